"""What the proxy stands in front of, and how: the tables of a configuration file, or of a command line.

```toml
[upstream.grafana]
command = "mcp-grafana"
args = ["--disable-oncall"]
inherit_env = ["GRAFANA_URL", "GRAFANA_TOKEN"]
budgets = { "query_*" = 20000 }

[upstream.billing]
url = "https://billing.example/mcp"
forward_authorization = true
exclude = ["get_invoice"]
```
"""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from spillcache import defaults
from spillcache.errors import ArgumentsInvalid
from spillcache.mcp.proxy.names import NAMESPACE
from spillcache.tool.results import LEAST_BUDGET_BYTES, SpillOptions

OnStoreFailure = Literal["envelope", "pass", "error"]


class Upstream(BaseModel):
    """One server behind the proxy. Sizes in bytes.

    A server of its own process has a `command`; it inherits PATH, HOME and the like, what `inherit_env` names, and has
    `env` over it. A server on HTTP has a `url`. `include` and `exclude` say whose results may be spilled, as patterns
    of tool names; `budgets` says how large a tool's result may be, by pattern, the first that fits.
    """

    # A wrong value may be a secret in the wrong place, so no error repeats its input.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    command: str | None = Field(None, min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = {}
    inherit_env: tuple[str, ...] = ()
    cwd: Path | None = None
    url: str | None = Field(None, pattern=r"^https?://")
    headers: dict[str, SecretStr] = {}
    forward_authorization: bool = False
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    budgets: dict[str, Annotated[int, Field(ge=LEAST_BUDGET_BYTES, le=defaults.MAX_PAGE_BYTES)]] = {}
    on_store_failure: OnStoreFailure = "envelope"
    media_bytes: int = Field(defaults.MEDIA_BYTES, ge=0, le=defaults.MEDIA_BYTES)
    drop_output_schema: bool = False
    max_message_bytes: int = Field(defaults.MAX_PAYLOAD_BYTES, gt=0)

    @field_validator("headers")
    @classmethod
    def _no_line_breaks(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        if any({"\r", "\n"} & set(name + secret.get_secret_value()) for name, secret in value.items()):
            raise ValueError("must not hold line breaks")
        return value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("give either command or url")
        stray = [name for name in _ONLY_HTTP if getattr(self, name)] if self.url is None else []
        stray += [name for name in _ONLY_STDIO if getattr(self, name)] if self.command is None else []
        if stray:
            raise ValueError(f"{', '.join(stray)} cannot be used with {'command' if self.url is None else 'url'}")
        return self

    def spills(self, tool: str) -> bool:
        """Whether results of this tool, by its upstream's name, may be spilled."""
        included = any(fnmatchcase(tool, pattern) for pattern in self.include)
        return included and not any(fnmatchcase(tool, pattern) for pattern in self.exclude)

    def options_for(self, tool: str, default_budget: int) -> SpillOptions:
        """How results of this tool are spilled; `default_budget` where no pattern fits."""
        return SpillOptions(
            budget=next(
                (budget for pattern, budget in self.budgets.items() if fnmatchcase(tool, pattern)), default_budget
            ),
            media_bytes=self.media_bytes,
            on_store_failure=self.on_store_failure,
            structured="drop" if self.drop_output_schema else "keep",
        )


_ONLY_HTTP = ("headers", "forward_authorization")
_ONLY_STDIO = ("args", "env", "inherit_env", "cwd")


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    upstream: dict[str, Upstream] = Field(min_length=1)

    @field_validator("upstream")
    @classmethod
    def _namespaces(cls, value: dict[str, Upstream]) -> dict[str, Upstream]:
        wrong = [name for name in value if not NAMESPACE.fullmatch(name)]
        if wrong:  # such a name goes before `_` in tool names and before `+` in URIs
            raise ValueError("a name has letters, digits and hyphens, a letter first, and at most 32 of them")
        return value


def make_upstream(**fields: Any) -> Upstream:
    """An upstream as a command line gives it. Raises `ArgumentsInvalid`, which names the fields, not their values."""
    try:
        return Upstream(**fields)
    except ValidationError as error:
        said = _complaints(error)
    raise ArgumentsInvalid(f"the upstream cannot be used: {said}", next_step="Correct the options and run it again.")


def load_upstreams(path: Path) -> dict[str, Upstream]:
    """The upstreams of a configuration file, by namespace. Raises `ArgumentsInvalid`, which names file and key."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        return dict(_File(**tables).upstream)
    except OSError as error:
        said = f"it cannot be read ({error.strerror or type(error).__name__})"
    except ValidationError as error:  # before ValueError, of which it is one
        said = _complaints(error)
    except ValueError as error:
        said = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else f"it is not TOML: {error}"
    raise ArgumentsInvalid(f"{path}: {said}", next_step="Correct the configuration file and run it again.")


def _complaints(error: ValidationError) -> str:
    return "; ".join(_complaint(found["loc"], found["msg"]) for found in error.errors(include_input=False))


def _complaint(place: tuple[int | str, ...], message: str) -> str:
    said = message.removeprefix("Value error, ")
    return f"{'.'.join(map(str, place))}: {said}" if place else said
