"""What kind of text a payload is, told from its head.

Log lines such as `[2024-01-01 …] …` begin like JSON, so the head is held against JSON's grammar. That is a guess about
the rest, never a claim that the document is valid.
"""

from __future__ import annotations

import re

from spillcache.scan.model import Kind

#: Bytes of the head that are held against the grammar, and tokens among them: enough to tell, cheap to check.
_HEAD_BYTES, _HEAD_TOKENS = 8 << 10, 64
#: Records that a head must show before it counts as CSV, and records looked at.
_CSV_RECORDS, _CSV_LOOKED_AT = 3, 20

_BOM = b"\xef\xbb\xbf"
_BLANKS = re.compile(rb"[ \t\r\n]*")
_STRING = rb'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"'
_TOKEN = re.compile(
    rb"[ \t\r\n]*(?:([][{},:])|(" + _STRING + rb")"
    rb"|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.+-])|(?:true|false|null|NaN|-?Infinity)\b))",
    re.DOTALL,
)
#: The groups of `_TOKEN`.
_PUNCTUATION, _IS_STRING, _IS_SCALAR = 1, 2, 3
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_FIELD = rb'(?:"(?:[^"]|"")*"|[^"\r\n%b]*)'
_CLOSER = {b"{": b"}", b"[": b"]"}
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY, _COMMA, _COLON = b"{}[],:"
_CLOSER_OF = {_OPEN_OBJECT: _CLOSE_OBJECT, _OPEN_ARRAY: _CLOSE_ARRAY}
_CLOSERS, _NO_CLOSER = (_CLOSE_OBJECT, _CLOSE_ARRAY), 0
_VALUE, _FIRST_VALUE, _KEY, _FIRST_KEY, _BEFORE_COLON, _AFTER = range(6)
#: What state follows one in which a byte of punctuation, a string or a scalar stands; what is not here is not JSON.
_GRAMMAR = {
    (state, mark): following
    for states, marks in (
        (
            (_VALUE, _FIRST_VALUE),
            {_IS_STRING: _AFTER, _IS_SCALAR: _AFTER, _OPEN_OBJECT: _FIRST_KEY, _OPEN_ARRAY: _FIRST_VALUE},
        ),
        ((_KEY, _FIRST_KEY), {_IS_STRING: _BEFORE_COLON}),
        ((_BEFORE_COLON,), {_COLON: _VALUE}),
        ((_AFTER,), {_COMMA: _VALUE, _CLOSE_OBJECT: _AFTER, _CLOSE_ARRAY: _AFTER}),
        ((_FIRST_KEY,), {_CLOSE_OBJECT: _AFTER}),
        ((_FIRST_VALUE,), {_CLOSE_ARRAY: _AFTER}),
    )
    for state in states
    for mark, following in marks.items()
}


def kind_of_head(head: bytes, *, whole: bool) -> Kind:
    """The kind of a payload that begins with `head`; `whole` says that nothing follows. Never "bytes"."""
    body = head.removeprefix(_BOM)
    if is_ndjson(body, whole=whole):
        return "ndjson"
    part = body[:_HEAD_BYTES]
    if looks_like_json(part, whole=whole and len(part) == len(body)):
        return "json"
    return "csv" if looks_like_csv(part, whole=whole and len(part) == len(body)) else "text"


def looks_like_json(text: bytes, *, whole: bool) -> bool:
    """Whether a text begins as a JSON document does. Stops after the first value, or where a cut head ends."""
    state, closers, at = _VALUE, [_NO_CLOSER], 0
    had_container = False
    for count in range(_HEAD_TOKENS):
        token = _TOKEN.match(text, at)
        if token is None:
            return count > 0 and _ends_here(text, at, whole=whole)
        at = token.end()
        mark = text[at - 1] if token.lastindex == _PUNCTUATION else token.lastindex or 0
        following = _GRAMMAR.get((state, mark))
        if following is None:
            return False
        state = following
        if mark in _CLOSER_OF:
            closers.append(_CLOSER_OF[mark])
            had_container = True
        elif mark in _CLOSERS and closers.pop() != mark:
            return False
        elif mark == _COMMA:
            if len(closers) == 1:
                return False
            state = _KEY if closers[-1] == _CLOSE_OBJECT else _VALUE
        if state == _AFTER and len(closers) == 1:
            return _may_follow(text, at, had_container)
    return True


def _may_follow(text: bytes, at: int, had_container: bool) -> bool:
    """Whether a document may have ended here: nothing follows, or, as documents are concatenated, a container does."""
    blanks = _BLANKS.match(text, at)
    at = blanks.end() if blanks is not None else at
    return at == len(text) or (had_container and text[at : at + 1] in _CLOSER)


def _ends_here(text: bytes, at: int, *, whole: bool) -> bool:
    """Whether no token follows because the text is cut there: it ends, or a string or a scalar is left open."""
    blanks = _BLANKS.match(text, at)
    at = blanks.end() if blanks is not None else at
    if at == len(text):
        return True
    if text[at : at + 1] == b'"':
        return _STRINGS.match(text, at) is None
    return not whole and len(text) - at < _HEAD_BYTES and re.fullmatch(rb"[-+.\w]+", text[at:]) is not None


def is_ndjson(text: bytes, *, whole: bool) -> bool:
    """Whether the first line is one JSON container and the next line begins one."""
    blanks = _BLANKS.match(text)
    start = blanks.end() if blanks is not None else 0
    if text[start : start + 1] not in _CLOSER:
        return False
    end = text.find(b"\n", start)
    if end < 0:
        return False
    line = text[start:end].rstrip()
    following = _BLANKS.match(text, end)
    next_start = following.end() if following is not None else end
    if line[-1:] != _CLOSER[line[:1]] or text[next_start : next_start + 1] not in _CLOSER:
        return False
    next_end = text.find(b"\n", next_start)
    next_line = text[next_start : next_end if next_end >= 0 else len(text)][:_HEAD_BYTES]
    return _closes_only_at_its_end(line) and looks_like_json(next_line, whole=whole)


def _closes_only_at_its_end(line: bytes) -> bool:
    if not looks_like_json(line[:_HEAD_BYTES], whole=len(line) <= _HEAD_BYTES):
        return False
    bare = _STRINGS.sub(b"", line)
    brackets = len(re.findall(rb"[{[]", bare)) - len(re.findall(rb"[]}]", bare))
    return b'"' not in bare and brackets == 0


def looks_like_csv(text: bytes, *, whole: bool) -> bool:
    """Whether a head splits into records with one number of fields, the first without empty or very long ones.

    Nothing is claimed about rows further down: a quoted field may hold line ends, and any row may be odd.
    """
    return any(_splits_evenly(text, delimiter, whole=whole) for delimiter in (b",", b"\t", b";", b"|"))


def _splits_evenly(text: bytes, delimiter: bytes, *, whole: bool) -> bool:
    field = re.compile(_FIELD % re.escape(delimiter))
    counts: list[int] = []
    at = 0
    while at < len(text) and len(counts) < _CSV_LOOKED_AT:
        fields: list[bytes] = []
        while True:
            found = field.match(text, at)
            if found is None:
                return False
            fields.append(found[0])
            at = found.end()
            if text[at : at + 1] != delimiter:
                break
            at += 1
        end = re.compile(rb"\r?\n").match(text, at)
        if end is None:
            if at < len(text):
                return False
            if whole:
                counts.append(len(fields))
            break
        at = end.end()
        if not counts and not all(0 < len(name.strip()) <= 64 and name[:1] not in b"[{#" for name in fields):
            return False
        counts.append(len(fields))
    return len(counts) >= _CSV_RECORDS and len(set(counts)) == 1 and counts[0] > 1
