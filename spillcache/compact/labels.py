"""Labels in short: `{cpu=0,mode="a b"}` for `{"cpu":"0","mode":"a b"}`."""

from __future__ import annotations

import json
import re

from spillcache.shown import shown_text

#: Characters of labels that are shown beside the data.
_MOST_SHOWN = 300

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


def shown_labels(written: str) -> str:
    """Labels fit to be shown outside the data: in short where that is exact, on one line, at most 300 characters."""
    clean = " ".join(shown_text(short_labels(written) or written).split())
    return clean if len(clean) <= _MOST_SHOWN else clean[: _MOST_SHOWN - 1] + "…"


def _value(value: str) -> str:
    return value if _BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)
