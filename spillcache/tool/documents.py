"""JSON texts that may be large: whether one is valid, and whether it says the same as a value.

A parser works in one go and lets no other thread run meanwhile: 4.7 MB of metrics held an event loop for 270 ms, from
whichever thread. So large texts are compared as bytes, and parsed in pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import orjson

from spillcache.scan import bitmaps, scan
from spillcache.tool.numbers import travels

#: Texts up to this size are parsed at once, which takes up to 15 ms.
_AT_ONCE_BYTES: Final = 256 << 10

_BLOCK_BYTES: Final = 256 << 10  # of whole words
_WORD: Final = 64
_QUOTE, _BACKSLASH, _SPACE = 0x22, 0x5C, 0x20

# Letters that Go's encoder escapes in strings, whose HTML it has in mind.
_ESCAPED_BY_GO: Final = tuple((letter.encode(), f"\\u{ord(letter):04x}".encode()) for letter in "&<>\u2028\u2029")


def is_document(text: str) -> bool:
    """Whether a text is a JSON object or array and nothing else, so that it can stand in another document as it is."""
    if not (text.startswith(("{", "[")) and text.endswith(("}", "]"))):
        return False
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return _parses(data) if len(data) <= _AT_ONCE_BYTES else _parses_in_pieces(data)


def says(text: str, value: Any) -> bool:
    """Whether a text is a value's JSON, however it is spaced and its keys are ordered, or the value itself.

    A large text that spells numbers or letters in another way than most, and than Go, is taken for different; so is
    the text of a value that holds NaN or an infinity.
    """
    if isinstance(value, str) and text == value:
        return True
    opening = "{" if isinstance(value, Mapping) else "[" if isinstance(value, list) else text[:1]
    if not text.lstrip().startswith(opening):
        return False
    try:
        same = _spells(text.encode(), value)
    except (TypeError, ValueError):  # not JSON, or what orjson does not write: a lone surrogate, a huge integer
        return False
    return same and travels(value)  # orjson writes null for NaN as well


def _spells(sent: bytes, value: Any) -> bool:
    written = orjson.dumps(value)
    if sent == written:
        return True
    if len(sent) <= _AT_ONCE_BYTES:
        return _sorted(orjson.loads(sent)) == _sorted(value)
    tokens = without_blanks(sent)
    if len(tokens) != len(written):
        written = _as_go_writes(written)
    return tokens == written or (len(tokens) == len(written) and tokens == _sorted(value))


def without_blanks(text: bytes) -> bytes:
    """A JSON text without what stands between its tokens; what stands in its strings stays."""
    kept, escaped, opened = [], 0, 0
    for start in range(0, len(text), _BLOCK_BYTES):
        block = text[start : start + _BLOCK_BYTES]
        padded = np.frombuffer(block.ljust(-(-len(block) // _WORD) * _WORD), np.uint8)
        _, after_backslash, escaped = bitmaps.escapes(bitmaps.pack(padded == _BACKSLASH), escaped)
        quotes = bitmaps.pack(padded == _QUOTE) & ~after_backslash
        between = bitmaps.pack(padded <= _SPACE) & ~bitmaps.inside(quotes, opened)  # other controls are no JSON there
        stays = np.unpackbits((~between).view(np.uint8), bitorder="little", count=len(block)).view(np.bool_)
        kept.append(padded[: len(block)][stays].tobytes())
        opened ^= int(np.bitwise_count(quotes).sum()) & 1
    return b"".join(kept)


def _as_go_writes(text: bytes) -> bytes:
    for letter, escape in _ESCAPED_BY_GO:
        text = text.replace(letter, escape)  # outside strings there is none of them
    return text


def _sorted(value: Any) -> bytes:
    """A spelling that tells 1, 1.0 and true apart, as comparing the values would not."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _parses_in_pieces(data: bytes) -> bool:
    """Whether a document is valid: its results are, and what is left of it with something valid in their places."""
    results = scan(data).inventory.results
    frame, end = [], 0
    for start, after in zip(results.start.tolist(), results.end.tolist(), strict=True):
        piece = data[start:after]
        if _parses(piece):
            stand_in = b"null"
        elif _parses(b"{" + piece + b"}"):  # a member of an object, with its key
            stand_in = b'"":null'
        else:
            return False
        frame += [data[end:start], stand_in]
        end = after
    return _parses(b"".join([*frame, data[end:]]))


def _parses(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True
