"""Whether a payload is UTF-8 throughout, told block by block."""

from __future__ import annotations

import codecs

from spillcache.scan.bitmaps import Bytes

#: Decoding is fastest while text and result stay in the cache.
_PIECE = 64 << 10
_FIRST_NON_ASCII = 0x80


class Utf8Check:
    """Takes the blocks of a payload in order."""

    def __init__(self) -> None:
        self.valid = True
        self._rest = b""  # a code point that the last block ends in

    def feed(self, block: Bytes, *, last: bool) -> bool:
        """Whether everything up to here is valid; at the end, `last`, no code point may be left open."""
        if not self.valid:
            return False
        if not self._rest and int(block.max(initial=0)) < _FIRST_NON_ASCII:
            return True
        for start in range(0, len(block), _PIECE):
            piece = self._rest + block[start : start + _PIECE].tobytes()
            try:
                _, used = codecs.utf_8_decode(piece, "strict", last and start + _PIECE >= len(block))
            except UnicodeDecodeError:
                self.valid = False
                return False
            self._rest = piece[used:]
        return True
