"""The environment of this process, for who starts another one and must say what it inherits."""

from __future__ import annotations

import os
from collections.abc import Mapping


def environment() -> Mapping[str, str]:
    """Its variables, as they are now."""
    return dict(os.environ)
