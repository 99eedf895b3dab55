"""Replacing a file of secrets: at once, so that who follows it reads the old text or the new one, never half of it."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from spillcache.wiring.opening import write_private


def replace_private(file: Path, text: str) -> None:
    """Put new text in the place of the old, with the old one's mode; a new file only its owner reads.

    Raises `OSError`; the file is then as it was.
    """
    place = file.resolve()
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    write_private(draft, text)
    try:
        if place.exists():
            shutil.copymode(place, draft)
        draft.replace(place)
    except BaseException:
        draft.unlink()
        raise
