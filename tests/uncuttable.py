"""What must not be cut, found by looking at every byte from the first: slow, and short enough to be believed."""

from __future__ import annotations

HEX = frozenset(b"0123456789abcdefABCDEF")


def inside(text: bytes) -> set[int]:
    """All places inside a code point, an escape sequence or an escaped surrogate pair."""
    places = {at for at in range(len(text)) if text[at] & 0xC0 == 0x80}
    at, pair = 0, -1
    while at < len(text):
        if text[at] != 0x5C:
            at += 1
            continue
        digits = text[at + 2 : at + 6]
        whole = text[at + 1 : at + 2] == b"u" and len(digits) == 4 and set(digits) <= HEX
        length = 6 if whole else 2
        places.update(range(at + 1, min(at + length, len(text))))
        code = int(digits, 16) if whole else 0
        if 0xDC00 <= code < 0xE000 and pair == at:
            places.add(at)
        pair = at + 6 if 0xD800 <= code < 0xDC00 else -1
        at += length
    return {at for at in places if at < len(text)}
