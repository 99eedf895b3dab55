"""A file that is either whole or not there."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from spillcache.cli.failures import OutputFailed


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` when the block ends well, and is removed when it does not.

    Until then it has a name, beside it, that nobody takes for the whole: `.NAME.<random>.partial`. A device or a pipe
    is written to directly. Raises `OutputFailed` for what the file system refuses.
    """
    place = path.resolve()  # a link stays a link; what it points to is replaced
    try:
        if place.exists() and not place.is_file():
            with place.open("wb") as device:
                yield device
            return
        with _drafted(place) as draft:
            yield draft
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> OutputFailed:
    """The error for a file that the file system refuses."""
    return OutputFailed(
        f"{path} cannot be written ({error.strerror or type(error).__name__})",
        next_step="Name a file in a directory that exists, that you may write to and that has room (-o FILE).",
    )


@contextmanager
def _drafted(place: Path) -> Iterator[BinaryIO]:
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, draft)
        draft.replace(place)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
