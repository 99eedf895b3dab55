"""Programs of others that the tests in tests/foreign speak with: where they are, and how they get there.

``python -m scripts.foreign`` installs what is missing, at the versions below, into ``.foreign/`` of the repository
and nowhere else: npm packages (a Node among them, for the system's may be too old), Python servers each in an
environment of its own, and Debian packages unpacked without being installed.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOREIGN = Path(__file__).resolve().parent.parent / ".foreign"

_NODE = f"node-linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}"
NPM: Mapping[str, str] = {
    "@modelcontextprotocol/client": "2.4.0",
    "@modelcontextprotocol/conformance": "0.1.16",
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/sdk": "1.32.2",
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    # The suite's released line ends with the 2025 protocol; this one knows 2026-07-28.
    "conformance-2026": "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    _NODE: "22.23.5",  # the Inspector and the conformance suite want 22
}
"""Package → version, all in one node_modules; a second version of a package has a name of our own."""

PYPI: Mapping[str, str] = {"mcp-grafana": "2.1.1", "mcp-server-git": "2026.10.19", "prometheus-mcp-server": "1.6.2"}
"""Package → version; each has a program of its own name, and an environment to itself."""

DEBIAN: Mapping[str, tuple[str, ...]] = {
    "haproxy": ("haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"),
    "prometheus": ("prometheus",),
}
"""Program → the packages that it needs beyond a bare system. The version is what the system's release holds."""


class UnavailableError(Exception):
    """This cannot be had here; the text says why."""


@dataclass(frozen=True, slots=True)
class Program:
    """An executable and what its environment needs in addition."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)


def node() -> Path:
    """The Node that runs foreign packages."""
    return node_modules() / _NODE / "bin" / "node"


def node_modules() -> Path:
    """Where the npm packages are."""
    return FOREIGN / "node" / "node_modules"


def npm_program(package: str, name: str | None = None) -> Path:
    """The script that `package` declares as its program (`name`, where it has several)."""
    home = node_modules() / package
    declared = json.loads((home / "package.json").read_text(encoding="utf-8"))["bin"]
    return home / (declared if isinstance(declared, str) else declared[name or next(iter(declared))])


def python_program(package: str) -> Path:
    """The program of a Python package."""
    return _environment(package) / "bin" / package


def debian_program(name: str) -> Program:
    """The system's own program, else the unpacked one. Raises UnavailableError where there is neither."""
    if found := shutil.which(name):
        return Program(Path(found))
    for place in ("bin", "sbin"):
        path = _unpacked(name) / "usr" / place / name
        if path.exists():
            libraries = sorted({str(one.parent) for one in (_unpacked(name) / "usr" / "lib").rglob("*.so.*")})
            return Program(path, {"LD_LIBRARY_PATH": ":".join(libraries)} if libraries else {})
    raise UnavailableError("not installed; python -m scripts.foreign does it")


def npm_is_there() -> bool:
    """Whether all of NPM is installed at these versions."""
    return all(_npm_version(package) == version.rpartition("@")[2] for package, version in NPM.items())


def python_is_there() -> bool:
    """Whether all of PYPI is installed at these versions."""
    return all(python_program(package).exists() for package in PYPI)


def install_npm() -> None:
    """Install NPM. No package's own install script runs."""
    if npm_is_there():
        return
    home = FOREIGN / "node"
    home.mkdir(parents=True, exist_ok=True)
    wanted = {"private": True, "dependencies": dict(NPM)}
    (home / "package.json").write_text(json.dumps(wanted, indent=2), encoding="utf-8")
    options = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    _command("npm", "install", *options, directory=home)


def install_python() -> None:
    """Install PYPI."""
    for package, version in PYPI.items():
        if not python_program(package).exists():
            home = _environment(package)
            venv.create(home, with_pip=True, clear=True)
            _command(home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", f"{package}=={version}")


def install_debian(name: str) -> None:
    """Unpack what gives the program `name`, unless it is there."""
    try:
        debian_program(name)
    except UnavailableError:
        target = _unpacked(name)
        target.mkdir(parents=True, exist_ok=True)
        download = ("apt-get", "download", "--quiet=2", *DEBIAN[name])
        try:
            _command(*download, directory=target)
        except UnavailableError:  # a new machine has no lists of packages yet, or old ones
            _command("apt-get", "update", "--quiet=2")
            _command(*download, directory=target)
        for archive in target.glob("*.deb"):
            _command("dpkg-deb", "--extract", archive, target)
            archive.unlink()


INSTALLERS: Mapping[str, Callable[[], None]] = {
    "npm packages": install_npm,
    "Python servers": install_python,
    **{name: lambda name=name: install_debian(name) for name in DEBIAN},  # type: ignore[misc]
}
"""What is installed → by what. Each raises UnavailableError, or leaves its things in place."""


def install() -> dict[str, str]:
    """Install everything that can be had; what could not, and why."""
    failures = {}
    for name, installer in INSTALLERS.items():
        try:
            installer()
        except UnavailableError as error:
            failures[name] = str(error)
    return failures


def _environment(package: str) -> Path:
    return FOREIGN / "python" / f"{package}-{PYPI[package]}"


def _unpacked(name: str) -> Path:
    return FOREIGN / "debian" / name


def _npm_version(package: str) -> str | None:
    manifest = node_modules() / package / "package.json"
    return json.loads(manifest.read_text(encoding="utf-8"))["version"] if manifest.exists() else None


def _command(program: str | Path, *arguments: str | Path, directory: Path | None = None) -> None:
    if shutil.which(program) is None:
        raise UnavailableError(f"no {program} command")
    ran = subprocess.run(
        [program, *arguments], cwd=directory, capture_output=True, text=True, check=False, env=_quiet_environment()
    )
    if ran.returncode:
        raise UnavailableError((ran.stderr.strip() or f"{program} failed").splitlines()[-1])


def _quiet_environment() -> dict[str, str]:
    return {**os.environ, "NO_UPDATE_NOTIFIER": "1", "DEBIAN_FRONTEND": "noninteractive"}


def main() -> int:
    """Install, and say what could not be; the exit code."""
    failures = install()
    for name in INSTALLERS:
        print(f"{name}: {failures.get(name, 'there')}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
