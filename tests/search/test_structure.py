"""The structure of a document, followed in blocks, against a loop over its bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spillcache.search.structure import DEEPEST, Open, State

_TOKENS = ("{", "}", "[", "]", ",", ":", " ", "1", "null", '"a"', '"x,{"', '"\\""', '"\\\\"', '"' + "y" * 70 + '"')
documents = st.lists(st.sampled_from(_TOKENS), max_size=90).map("".join).map(str.encode)
BEGINNING = State(0, (Open(0, 0, -1),))


def looped(text: bytes) -> tuple[bool, tuple[Open, ...]]:
    """Whether a string is open after the text, and which containers are."""
    stack, in_string, at = [[0, 0, -1]], False, 0
    while at < len(text):
        byte = text[at]
        if in_string and byte == 0x5C:
            at += 1
        elif byte == 0x22:
            in_string = not in_string
        elif in_string:
            pass
        elif byte in b"{[":
            stack.append([byte, 0, at])
        elif byte in b"}]" and len(stack) > 1:
            stack.pop()
        elif byte == 0x2C:
            stack[-1][1:] = [stack[-1][1] + 1, at]
        at += 1
    return in_string, tuple(Open(*one) for one in stack)


@given(text=documents, edges=st.lists(st.integers(0, 20), max_size=4))
def test_what_is_open_is_what_a_loop_over_the_bytes_says(text: bytes, edges: list[int]) -> None:
    """Wherever it is cut, as long as all parts but the last are whole words."""
    state, at = BEGINNING, 0
    for edge in sorted(64 * edge for edge in edges):
        if at < edge < len(text):
            state, at = state.after(text[at:edge]), edge
    state = state.after(text[at:])
    assert (state.in_string, state.stack) == looped(text)
    assert state.at == len(text)


def test_documents_of_any_depth_are_followed() -> None:
    """What lies deeper than is remembered neither takes memory nor confuses what is above it."""
    state = BEGINNING.after(b"[1,2," + b"[" * 50_000)
    assert len(state.stack) == DEEPEST + 1
    state = state.after(b"]" * 50_000 + b",3")
    assert state.stack == (Open(0, 0, -1), Open(0x5B, 3, 100_005))
