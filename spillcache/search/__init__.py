"""Searching a spill for a pattern: a hatch for one narrow question, which cannot look like the whole.

`pattern` is RE2 with good errors, `partial` what of it may go on beyond a block, `sweep` finds every match once in a
text that comes in blocks. `structure` follows a JSON document so that `place` can say what was matched, and `matches`
is the answer. No I/O: whoever reads the blocks drives these.
"""

from __future__ import annotations

from spillcache.search.matches import MOST_COUNTED, MOST_NEXT, Match, Matches, Next, Stopped, window
from spillcache.search.pattern import Pattern, compile_pattern
from spillcache.search.place import KEY_BYTES, Place, Root, key_offsets, place_of, skipped
from spillcache.search.structure import State
from spillcache.search.sweep import Found, Sweep

__all__ = [
    "KEY_BYTES",
    "MOST_COUNTED",
    "MOST_NEXT",
    "Found",
    "Match",
    "Matches",
    "Next",
    "Pattern",
    "Place",
    "Root",
    "State",
    "Stopped",
    "Sweep",
    "compile_pattern",
    "key_offsets",
    "place_of",
    "skipped",
    "window",
]
