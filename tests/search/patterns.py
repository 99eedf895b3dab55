"""Patterns and texts for Hypothesis, as small and as mean as they come."""

from __future__ import annotations

from hypothesis import strategies as st

_ATOMS = (
    "a", "b", "é", "漢", r"\n", ".", "[ab]", "[^a]", r"\b", r"\B", "^", "$", r"\w", r"\s", r"\d", r"\x61", r"\x{e9}",
    "(?i:A)", "(?s:.)", r"[^\]]", "[]a]", r"\pL", r"\A", r"\z", "[[:alpha:]]", "(?m:^)", "(?m:$)", "{", r"\.", "ab",
)  # fmt: skip
_QUANTIFIERS = ("*", "+", "?", "*?", "+?", "{2}", "{1,3}", "{0,2}?", "{2,}")

#: Valid in RE2, but for the few that match the empty string, which are refused.
patterns = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(("", "", "(?i)", "(?m)", "(?s)", "(?ms)")),
        st.recursive(
            st.sampled_from(_ATOMS),
            lambda inner: st.one_of(
                st.lists(inner, min_size=1, max_size=3).map("".join),
                st.builds("({}|{})".format, inner, inner),
                st.builds("(?P<x>{}|)".format, inner).filter(lambda pattern: pattern.count("(?P<x>") == 1),
                st.builds("(?:{}){}".format, inner, st.sampled_from(_QUANTIFIERS)),
            ),
            max_leaves=8,
        ),
    ),
)

texts = st.text(st.sampled_from("aaabbc é漢\n1]{."), max_size=60).map(str.encode)


def blocks(text: bytes, lengths: list[int]) -> list[bytes]:
    """The text in blocks of these lengths, over and over; the last one may be empty."""
    found, at, turn = [], 0, 0
    while at < len(text):
        length = lengths[turn % len(lengths)]
        found.append(text[at : at + length])
        at, turn = at + length, turn + 1
    return found or [b""]
