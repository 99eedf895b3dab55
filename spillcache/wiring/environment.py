"""The environment of this process: what its children get of it, and what in it was meant to be a setting."""

from __future__ import annotations

import os
from collections.abc import Mapping

from spillcache.wiring.settings import PREFIX, Settings

#: For the tests of this package, which whoever develops it has set.
_OF_TESTS = (f"{PREFIX}TEST_", f"{PREFIX}REQUIRE_")


def environment() -> Mapping[str, str]:
    """Its variables, as they are now."""
    return dict(os.environ)


def environment_without_settings() -> dict[str, str]:
    """Its variables but our settings: for a child that is given its own."""
    return {name: value for name, value in os.environ.items() if not name.upper().startswith(PREFIX)}


def unknown_settings() -> list[str]:
    """The names of variables that begin as settings do and are none: most likely misspelt. Sorted."""
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    ours = (name for name in os.environ if name.upper().startswith(PREFIX))
    return sorted(name for name in ours if name.upper() not in known and not name.upper().startswith(_OF_TESTS))
