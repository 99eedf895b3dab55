"""Patterns of a search: RE2, which runs in linear time whatever it is given, over bytes.

Offsets are bytes throughout. In text a character of a pattern is a code point; in binary data it is a byte, and a
pattern beyond ASCII stands for the bytes of its UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import re2

from spillcache.errors import PatternInvalid
from spillcache.search.partial import beginnings
from spillcache.shown import shown_name

#: Characters of a pattern, at most: nobody types more, and every one may cost RE2 some memory.
MAX_CHARACTERS = 1000
#: Memory of one compiled pattern: beyond it RE2 forgets states and makes them anew, which is slower and not wrong.
_MEMORY = 4 << 20

#: What is kept across an edge for a pattern whose beginnings cannot be told.
_FALLBACK_REACH = 16 << 10
#: Matches that cannot be longer are looked for by keeping so many bytes: cheaper than to ask what might begin.
_NEAR = 64 << 10
#: Instructions of RE2, beyond which a pattern may run at 0.3 MB/s where 200 are usual (`[0-9].{200}x`).
_HEAVY = 400
_LONGEST_CODE_POINT = 4
_NO_LOOKAROUND = (
    "lookaround, atomic groups and conditions are not supported, because searching takes linear time; "
    "search for the text itself and judge by the context of each match"
)
_NO_BACKREFERENCE = "backreferences are not supported, because searching takes linear time; spell the text out"
_REASONS = ((re.compile(r"invalid perl operator"), _NO_LOOKAROUND), (re.compile(r"sequence: \\\d"), _NO_BACKREFERENCE))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that can be run.

    `reach` is the length up to which a match is found wherever blocks of the text meet, in bytes; None where matches of
    any length are. `exact`: no match is longer, so none is missed. `heavy`: it may take its time, within linear bounds.
    """

    binary: bool
    reach: int | None
    exact: bool
    heavy: bool
    _regex: Any
    _beginnings: Any | None

    def matches(self, text: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Where it matches from `at` on, leftmost first and without overlaps; what is before `at` is context."""
        return (match.span() for match in self._regex.finditer(text, at))

    def undecided(self, text: bytes, at: int) -> int:
        """From where on a match may begin that depends on what follows `text`; its length when there is none."""
        if self._beginnings is not None:
            found = self._beginnings.search(text, at)
            return len(text) if found is None else int(found.start())
        return max(at, len(text) - (self.reach or 0))


def compile_pattern(pattern: str, *, literal: bool = False, ignore_case: bool = False, binary: bool = False) -> Pattern:
    """Make a pattern. Raises `PatternInvalid` with what is wrong and what to do instead."""
    raw = _checked(pattern)
    options = _options(ignore_case=ignore_case, binary=binary)
    options.literal = literal
    regex = _compiled(raw, options)
    if regex.match(b"") is not None:
        raise PatternInvalid(
            "the pattern matches the empty string, so it would match everywhere; require at least one character, "
            "as x+ in place of x*"
        )
    if literal:
        return Pattern(binary, _reach(len(pattern)), True, False, regex, None)
    # In binary data each byte is a character, which is what Latin-1 says.
    encoding = "latin-1" if binary else "utf-8"
    begun = beginnings(raw.decode(encoding))
    heavy = regex.programsize > _HEAVY
    if begun is not None and begun.longest is not None and _reach(begun.longest) <= _NEAR:
        return Pattern(binary, _reach(begun.longest), True, heavy, regex, None)
    may_begin = None if begun is None else _compiled_if_small(begun.pattern.encode(encoding), regex.options)
    if may_begin is None:
        return Pattern(binary, _FALLBACK_REACH, False, heavy, regex, None)
    return Pattern(binary, None, True, heavy or may_begin.programsize > _HEAVY, regex, may_begin)


def _reach(characters: int) -> int:
    """Bytes of so many characters, and of one more to look at."""
    return _LONGEST_CODE_POINT * (characters + 1)


def _checked(pattern: str) -> bytes:
    if not isinstance(pattern, str):
        raise PatternInvalid("the pattern must be text")
    if not pattern:
        raise PatternInvalid("the pattern is empty; say what to search for")
    if len(pattern) > MAX_CHARACTERS:
        raise PatternInvalid(f"the pattern has {len(pattern)} characters; at most {MAX_CHARACTERS} are searched for")
    try:
        return pattern.encode()
    except UnicodeEncodeError:
        raise PatternInvalid("the pattern holds half a surrogate pair, which no text contains") from None


def _options(*, ignore_case: bool, binary: bool) -> Any:
    options = re2.Options()
    options.encoding = options.Encoding.LATIN1 if binary else options.Encoding.UTF8
    options.case_sensitive = not ignore_case
    options.max_mem = _MEMORY
    options.log_errors = False
    return options


def _compiled(raw: bytes, options: Any) -> Any:
    try:
        return re2.compile(raw, options)
    except re2.error as error:
        said = error.args[0] if error.args else b""
        why = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    finally:
        re2.purge()  # it would remember patterns, each with its memory
    reason = next((reason for form, reason in _REASONS if form.search(why)), None)
    if reason is None:
        reason = f"RE2 refuses it ({shown_name(why)}); correct it, or set literal to search for it as it stands"
    raise PatternInvalid(f"the pattern cannot be searched for: {reason}")


def _compiled_if_small(raw: bytes, options: Any) -> Any | None:
    try:
        return _compiled(raw, options)
    except PatternInvalid:  # too large for its memory
        return None
