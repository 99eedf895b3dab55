"""The arithmetic of ranges, against slices of real bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.http.ranges import RangeUnsatisfiableError, Span, requested_span

numbers = st.integers(0, 40)


def part(header: str, size: int) -> bytes:
    """The bytes that a header asks for."""
    payload = bytes(range(size))
    span = requested_span(header, size)
    return payload if span is None else payload[span.start : span.end]


@given(numbers, numbers, numbers)
def test_from_a_first_to_a_last_byte(first: int, last: int, size: int) -> None:
    """Both included, as far as there are any; an end before its start is no range."""
    if last < first:
        assert requested_span(f"bytes={first}-{last}", size) is None
    elif first >= size:
        with pytest.raises(RangeUnsatisfiableError):
            requested_span(f"bytes={first}-{last}", size)
    else:
        assert part(f"bytes={first}-{last}", size) == bytes(range(size))[first : last + 1]


@given(numbers, numbers)
def test_from_a_first_byte_on(first: int, size: int) -> None:
    """To the end."""
    if first >= size:
        with pytest.raises(RangeUnsatisfiableError):
            requested_span(f"bytes={first}-", size)
    else:
        assert part(f"bytes={first}-", size) == bytes(range(size))[first:]


@given(numbers, numbers)
def test_the_last_bytes(length: int, size: int) -> None:
    """As many as there are; the last none of them cannot be had."""
    if not length:
        with pytest.raises(RangeUnsatisfiableError):
            requested_span("bytes=-0", size)
    else:
        assert part(f"bytes=-{length}", size) == bytes(range(size))[-length:]


@given(st.text(max_size=30) | st.from_regex(r"bytes=[-0-9, ]{0,12}", fullmatch=True), numbers)
def test_no_header_asks_for_what_is_not_there(header: str, size: int) -> None:
    """Whatever comes: a part that is in the payload and not empty, the whole, or an error."""
    try:
        span = requested_span(header, size)
    except RangeUnsatisfiableError:
        return
    assert span is None or 0 <= span.start < span.end <= size


def test_the_unit_is_known_in_any_case_and_blanks_do_not_matter() -> None:
    """As in every list of HTTP."""
    assert requested_span("Bytes= 1-2 ", 5) == Span(1, 3)
