"""Labels in short: `{cpu=0,mode="a b"}` for `{"cpu":"0","mode":"a b"}`."""

from __future__ import annotations

import json
import re
from typing import TypedDict

from spillcache.shown import spelled_text

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


class ShownLabels(TypedDict, total=False):
    """What is said of a series' labels outside the data: `labels`, or that they are not kept.

    `labels_cut` says that they go on beyond the 300 characters that are shown.
    """

    labels: str
    labels_omitted: bool
    labels_cut: bool


def shown_labels(written: str) -> ShownLabels:
    """Labels fit to be shown: on one line, in short where that is exact.

    What is not seen in them is spelled, so that no two series look alike, but where both are cut.
    """
    if not written:
        return {"labels_omitted": True}
    text = spelled_text(short_labels(written) or _on_one_line(written))
    return {"labels": text} if len(text) <= _MOST_SHOWN else {"labels": text[:_MOST_SHOWN] + "…", "labels_cut": True}


def _on_one_line(written: str) -> str:
    """The same JSON without blanks between its parts."""
    pairs = json.loads(written, object_pairs_hook=tuple)
    return f"{{{','.join(f'{_quoted(name)}:{_quoted(value)}' for name, value in pairs)}}}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _value(value: str) -> str:
    return value if _BARE.fullmatch(value) else _quoted(value)
