"""Labels in short: `{cpu=0,mode="a b"}` for `{"cpu":"0","mode":"a b"}`."""

from __future__ import annotations

import json
import re

#: What needs no quotes: no blank, and nothing that has a meaning in JSON or here.
_BARE = re.compile(r"[A-Za-z0-9_./:@%+-]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*", re.ASCII)


def short_labels(written: str) -> str | None:
    """A JSON object of strings in short; None where that would not be shorter, or not be exact."""
    if "\\" in written or ("=" in written and written.startswith("{=")):
        return None
    try:
        pairs = json.loads(written, object_pairs_hook=tuple)
    except ValueError:
        return None
    if not isinstance(pairs, tuple) or not pairs:
        return None
    if not all(isinstance(value, str) and _NAME.fullmatch(name) for name, value in pairs):
        return None
    return f"{{{','.join(f'{name}={_value(value)}' for name, value in pairs)}}}"


def _value(value: str) -> str:
    return value if _BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)
