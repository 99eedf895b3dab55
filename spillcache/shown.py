"""What is shown of strangers' words. Names and previews come from payloads, so nothing in them may hide or command.

What is taken away are controls (a terminal obeys them) and all that is not seen or turns the direction of what is:
Unicode's categories Cc, Cf, Zl and Zp (but for signs that show), variation selectors and fillers. Tags (U+E0000) can
hide whole sentences from people. The payload itself, in the chunks of pages, is never touched.
"""

from __future__ import annotations

import re
import unicodedata

MAX_NAME_CHARACTERS = 80
NAMELESS = "(unnamed)"

_UNSEEN = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
_UNSEEN_OR_BLANK = re.compile(rf"[\s{_UNSEEN}]+")
_UNSEEN_IN_TEXT = re.compile(f"[{_UNSEEN}]+")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def shown_name(name: str) -> str:
    """A name fit to be shown: one line, 1 to 80 characters, no control or direction characters."""
    clean = _UNSEEN_OR_BLANK.sub(" ", unicodedata.normalize("NFC", _LONE_SURROGATE.sub("\ufffd", name))).strip()
    if len(clean) > MAX_NAME_CHARACTERS:
        return clean[: MAX_NAME_CHARACTERS - 1].rstrip() + "…"
    return clean or NAMELESS


def shown_text(text: str) -> str:
    """A text fit to be shown: without control and direction characters, but for tabs and the ends of lines."""
    return _UNSEEN_IN_TEXT.sub("", text)


def spelled_text(text: str) -> str:
    r"""The same, but what would be taken away is spelled as RE2 spells it: `\x1b`, `\x{200b}`."""
    return _UNSEEN_IN_TEXT.sub(_spelled, text)


def _spelled(unseen: re.Match[str]) -> str:
    return "".join(rf"\x{ord(one):02x}" if ord(one) < 0x100 else rf"\x{{{ord(one):x}}}" for one in unseen[0])
