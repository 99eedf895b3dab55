"""What of a payload is no recognised series: whether it looks like more of them, and whether it is JSON.

Both are asked of the text between the series alone, because their own was read to the last byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Keys that series have, by their beginnings, because finding bytes is fast, and what follows where it is one. A quote
#: may be escaped: documents are put into strings as well. That counts too much rather than too little.
_KEYS = tuple(
    (beginning, re.compile(re.escape(beginning) + rest, re.ASCII))
    for beginning, rest in (
        (b'"value', rb's?\\*"\s*:\s*\['),
        (b'"histogram', rb's?\\*"\s*:\s*(?:\{|\[\s*[^\s\]])'),
        (b'"metric', rb'\\*"\s*:\s*\{'),
        (b'"stream', rb'\\*"\s*:\s*\{'),
        (b'"schema', rb'\\*"\s*:\s*\{'),
        (b'"data', rb'[pP]oints\\*"\s*:\s*\['),
        (rb"\u00", rb'[67][0-9a-fA-F][^"\\]*\\*"\s*:\s*[\[{]'),  # a key with an escape that no writer needs
    )
)
#: Where labels have this key, another is one that is repeated: which of the two hold, readers differ in.
_LABELS = (b'"labels', re.compile(rb'"labels\\*"\s*:\s*\{', re.ASCII))
#: Keys that come before the samples of a series.
_FIRST_KEYS = (b'"metric"', b'"stream"', b'"schema"')
#: The shortest text that a key above matches, with the bracket.
_SHORTEST = 9

#: Text of JSON outside of the containers' nesting, which is copied as it is in any case. Strings hold no control
#: characters, so none goes on behind a line end. Words as Python writes them are let through: they look like no other.
#: Groups are not possessive: before Python 3.11.5 such a one may end in the middle of what did not match.
_WORDS = re.compile(
    rb'(?:\xef\xbb\xbf)?(?:[][{},: \t\r\n0-9.eE+-]++|"[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*"'
    rb"|true|false|null|NaN|Infinity){0,4096}"
)

#: Text between series is looked at as one piece where it is no longer than this: a call for each of thousands of gaps
#: takes longer than the text itself. What is longer is looked at where it stands, so that no payload is held twice.
_AT_ONCE = 4 << 20

_Spans = Sequence[tuple[int, int]]


def leaves_series(text: bytes, objects: _Spans, *, whole: bool, labels: bool = False) -> bool:
    """Whether something looks like a series that was not found; what a window cuts off at its end does not count.

    `objects` is where the series that were found are, in the order of the text; `labels` says whether some of these
    have their labels under that very key.
    """
    end = 0
    spans: list[tuple[int, int]] = []
    for starts, ends in objects:
        if starts - end >= _SHORTEST:
            spans.append((end, starts))
        end = max(end, ends)
    stop = len(text)
    if not whole:
        last = max(text.rfind(key, end) for key in _FIRST_KEYS)
        stop = last if last >= 0 else stop
    spans.append((end, stop))
    if _length(spans) <= _AT_ONCE:
        text = _joined(text, spans)
        spans = [(0, len(text))]
    keys = (*_KEYS, _LABELS) if labels else _KEYS
    return any(_has(text, *span, beginning, key) for span in spans for beginning, key in keys)


def _has(text: bytes, start: int, end: int, beginning: bytes, key: re.Pattern[bytes]) -> bool:
    at = text.find(beginning, start, end)
    while at >= 0:
        if key.match(text, at, end):
            return True
        at = text.find(beginning, at + len(beginning), end)
    return False


def known_json(text: bytes, read: _Spans) -> int:
    """Up to which byte all that stands outside strings is words of JSON; 0 where that is not asked: without series.

    `read` is what is known to be JSON already.
    """
    if not read:
        return 0
    places = sorted(read)
    edges = [0, *(edge for place in places for edge in place), len(text)]
    spans = list(zip(edges[::2], edges[1::2], strict=True))
    if _length(spans) <= _AT_ONCE:
        joined = _joined(text, spans)
        if _words_end(joined, 0, len(joined)) == len(joined):
            return len(text)
    for start, end in spans:
        if (known := _words_end(text, start, end)) < end:
            return known
    return len(text)


def _words_end(text: bytes, start: int, end: int) -> int:
    """Where the words of JSON that begin at `start` end, at `end` at the latest."""
    while (matched := _WORDS.match(text, start, end)) is not None and matched.end() > start:
        start = matched.end()
    return start


def _length(spans: _Spans) -> int:
    return sum(end - start for start, end in spans)


def _joined(text: bytes, spans: _Spans) -> bytes:
    return b"\n".join([text[start:end] for start, end in spans])
