"""Settings: the one place that reads them, from environment variables `SPILLCACHE_…`.

Everything has a default, so an empty environment works: it gets the embedded server and that server's own key ring.
An empty variable counts as one that is not set. What a face was told on its own command line goes over the environment.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from spillcache import defaults
from spillcache.errors import ArgumentsInvalid

PREFIX = "SPILLCACHE_"

LogFormat = Literal["auto", "console", "json"]


class Settings(BaseSettings):
    """Typed settings. Sizes in bytes, times in seconds. Made by `read_settings`, which raises in our own words."""

    # A wrong value may be a secret in the wrong variable, so no error repeats its input.
    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )

    redis_url: SecretStr | None = Field(
        None,
        description="redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://; else the embedded server",
    )
    prefix: str = Field(defaults.PREFIX, description="first part of every key; no braces")
    ttl_s: float = Field(defaults.TTL_S, gt=0, description="the lease: how long a spill stays after it was last read")
    max_age_s: float = Field(defaults.MAX_AGE_S, gt=0, description="age beyond which reads no longer renew the lease")
    budget_bytes: int = Field(
        defaults.BUDGET_BYTES, gt=0, description="size cap of every answer; what fits goes through unspilled"
    )
    max_payload_bytes: int = Field(defaults.MAX_PAYLOAD_BYTES, gt=0, description="the largest payload that is stored")
    preview_bytes: Annotated[tuple[int, int], NoDecode] = Field(
        defaults.PREVIEW_BYTES, description="bytes of the preview's head and tail: HEAD,TAIL"
    )
    series: bool = Field(
        True, description="look for time series when storing: for their numbers, and for the compact view"
    )
    deadline_s: Annotated[tuple[float, float], NoDecode] = Field(
        (defaults.READ_DEADLINE_S, defaults.WRITE_DEADLINE_S),
        description="the longest that one operation on Redis may take: READ,WRITE",
    )
    concurrency: int = Field(defaults.CONCURRENCY, gt=0, description="operations on Redis at once, in one process")
    wait_replicas: int = Field(
        defaults.WAIT_REPLICAS, ge=0, description="replicas that must confirm a spill before it is handed out"
    )
    keyring_file: Path | None = Field(None, description="file of the key ring; `spillcache keys new` makes one")
    keyring: SecretStr | None = Field(None, description="the key ring itself, as JSON, in place of a file")
    tenant: str = Field(defaults.TENANT, min_length=1, description="whose spills are written and read")
    tool_name: str = Field(defaults.TOOL_NAME, min_length=1, description="name of the tool that reads spills")
    rendering: Literal["json", "raw"] = Field(
        "json", description="how the tool answers: one JSON object, or header, raw chunk and trailer lines"
    )
    structured_content: bool = Field(
        False, description="answer typed clients with structuredContent too; both copies count against the budget"
    )
    client_budgets: Annotated[dict[str, Annotated[int, Field(gt=0)]], NoDecode] = Field(
        default_factory=dict, description='budgets by client name, as JSON: {"my-agent": 20000}; they extend the table'
    )
    max_page_bytes: int = Field(
        defaults.MAX_PAGE_BYTES,
        gt=0,
        le=defaults.MAX_PAGE_BYTES,
        description="cap of every page, whatever a client asks for",
    )
    full_bytes: int = Field(
        defaults.FULL_BYTES, gt=0, description="cap of a full read, where the client is not known to take less"
    )
    max_request_bytes: int = Field(defaults.MAX_REQUEST_BYTES, gt=0, description="largest body of an MCP request")
    max_callers: int = Field(
        defaults.MAX_CALLERS, gt=0, description="callers of a proxy over HTTP whose upstreams are kept open at once"
    )
    host: str = Field(defaults.HOST, min_length=1, description="address to listen on")
    port: int = Field(defaults.PORT, ge=0, le=65535, description="port of MCP and REST; 0 takes a free one")
    metrics_port: int = Field(
        defaults.METRICS_PORT, ge=-1, le=65535, description="port of Prometheus metrics; -1: none"
    )
    drain_s: float = Field(defaults.DRAIN_S, ge=0, description="how long to go on accepting after SIGTERM")
    grace_s: float = Field(
        defaults.GRACE_S,
        ge=0,
        description="how long answers in progress may then still take before they are broken off",
    )
    allowed_hosts: Annotated[list[str], NoDecode] = Field(
        default_factory=list, description="Host headers that are served beside loopback, as JSON; * is any port or name"
    )
    tokens_file: Path | None = Field(
        None, description="bearer tokens and their tenants; `spillcache tokens new` makes one"
    )
    jwks_url: str | None = Field(None, description="where the keys of JWT bearer tokens are published")
    jwt_issuer: str | None = Field(None, description="issuer that JWTs must name")
    jwt_audience: str | None = Field(None, description="audience that JWTs must name")
    jwt_tenant_claim: str = Field("tenant", min_length=1, description="claim of a JWT that names the tenant")
    allow_no_auth: bool = Field(False, description="serve without credentials also beyond loopback")
    log_format: LogFormat = Field("auto", description="auto is console on a terminal, else json")

    @field_validator("preview_bytes", "deadline_s", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",")] if isinstance(value, str) else value

    @field_validator("client_budgets", "allowed_hosts", mode="before")
    @classmethod
    def _parsed(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError("must be JSON") from None

    @field_validator("preview_bytes")
    @classmethod
    def _not_negative(cls, value: tuple[int, int]) -> tuple[int, int]:
        if min(value) < 0:
            raise ValueError("must not be negative")
        return value

    @field_validator("deadline_s")
    @classmethod
    def _positive(cls, value: tuple[float, float]) -> tuple[float, float]:
        if min(value) <= 0:
            raise ValueError("must be positive")
        return value

    @field_validator("prefix")
    @classmethod
    def _no_braces(cls, value: str) -> str:
        if {"{", "}"} & set(value):  # they would take the cluster's hash tag from the spill id
            raise ValueError("must not hold braces")
        return value

    @model_validator(mode="after")
    def _one_ring(self) -> Self:
        if self.keyring is not None and self.keyring_file is not None:
            raise ValueError(f"set one of {PREFIX}KEYRING and {PREFIX}KEYRING_FILE, not both")
        return self


def read_settings(**overrides: Any) -> Settings:
    """Settings from the environment; an override that is not None goes over it.

    Raises `ArgumentsInvalid`, which names the variables and what is wrong with each, but not their values.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    if "keyring_file" in given:  # who names a file means that one, whatever ring the environment holds
        given.setdefault("keyring", None)
    try:
        return Settings(**given)
    except ValidationError as error:
        complaints = [_complaint(found["loc"], found["msg"]) for found in error.errors(include_input=False)]
    raise ArgumentsInvalid(
        f"settings are not valid: {'; '.join(complaints)}", next_step="Correct the settings and run it again."
    )


def _complaint(place: tuple[int | str, ...], message: str) -> str:
    said = message.removeprefix("Value error, ")
    return f"{PREFIX}{str(place[0]).upper()}: {said}" if place else said
