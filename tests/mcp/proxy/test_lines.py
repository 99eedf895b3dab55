"""Lines of a stdio server, whatever bytes they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse

from spillcache.mcp.lines import LineBuffer, Overlong
from spillcache.mcp.proxy.lines import Unreadable, read_line

CAP = 10_000


def read(line: bytes) -> SessionMessage | Unreadable:
    """The message of a whole line, through the buffer."""
    (cut,) = LineBuffer(CAP).feed(line + b"\n")
    (found,) = read_line(cut, CAP)
    return found


def answer(text: str = "fine") -> dict[str, Any]:
    """A response to request 7."""
    return {"jsonrpc": "2.0", "id": 7, "result": {"text": text}}


def failed(message: SessionMessage | Unreadable) -> JSONRPCError:
    """The error that stands for a damaged answer to request 7."""
    assert isinstance(message, SessionMessage)
    assert isinstance(message.message, JSONRPCError)
    assert message.message.id == 7
    return message.message


@given(st.lists(st.binary(max_size=200)), st.lists(st.integers(1, 50)))
def test_lines_come_out_as_they_went_in(lines: list[bytes], cuts: list[int]) -> None:
    """However the stream is cut into pieces."""
    whole = [line.replace(b"\n", b"") for line in lines]
    stream = b"".join(line + b"\n" for line in whole)
    buffer, at = LineBuffer(CAP), 0
    found: list[bytes | Overlong] = []
    for size in [*cuts, len(stream) + 1]:
        found += buffer.feed(stream[at : at + size])
        at += size
    assert found == whole


def test_a_line_over_the_cap_keeps_its_ends_only() -> None:
    """What is held never exceeds the cap, and the next line is read as ever."""
    buffer = LineBuffer(100)
    found = [line for _ in range(1_000) for line in buffer.feed(b"x" * 10)]
    assert found == []
    overlong, following = buffer.feed(b"end\nnext\n")
    assert isinstance(overlong, Overlong)
    assert (overlong.size, overlong.tail[-3:], following) == (10_003, b"end", b"next")


@pytest.mark.parametrize("id_last", [False, True])
def test_an_answer_over_the_cap_fails_its_request(id_last: bool) -> None:
    """Wherever the answer says whose it is."""
    result = {"result": {"text": "x" * CAP}}
    whole = {"jsonrpc": "2.0", **result, "id": 7} if id_last else {"jsonrpc": "2.0", "id": 7, **result}
    error = failed(read(json.dumps(whole).encode())).error
    assert error.data["code"] == "payload_too_large"
    assert error.data["next_step"]


def test_invalid_utf8_in_an_answer_fails_its_request() -> None:
    """Korean text in an old encoding, say; nothing of it is passed off as the answer."""
    damaged = json.dumps(answer("@@")).encode().replace(b"@@", "한글".encode("cp949"))
    error = failed(read(damaged)).error
    assert error.data["code"] == "upstream_invalid"
    assert "UTF-8" in error.message


def test_half_a_surrogate_pair_fails_its_request() -> None:
    """No UTF-8 can carry it on."""
    assert "UTF-8" in failed(read(json.dumps(answer("@@")).replace("@@", "\\ud83d").encode())).error.message


def test_a_raw_control_character_is_taken_as_it_is() -> None:
    """NUL in the middle of a string is against the grammar, and loses nothing."""
    message = read(json.dumps(answer("a@@b")).replace("@@", "\x00\x01").encode())
    assert isinstance(message, SessionMessage)
    assert isinstance(message.message, JSONRPCResponse)
    assert message.message.result == {"text": "a\x00\x01b"}


def test_an_answer_cut_short_fails_its_request() -> None:
    """A server that dies while it writes."""
    assert failed(read(json.dumps(answer("x" * 50)).encode()[:-30])).error.data["status"] == "FAILED"


@pytest.mark.parametrize("id_last", [False, True])
def test_an_id_inside_an_answer_is_not_the_answers(id_last: bool) -> None:
    """Data has ids as well: a row's must not fail the call of that number in place of the one that was answered."""
    result = {"rows": [{"id": 3}] * 10, "text": "x" * CAP, "more": [{"id": 4}]}
    whole: dict[str, Any] = {"result": result, "jsonrpc": "2.0"}
    whole = {**whole, "id": 7} if id_last else {"id": 7, **whole}
    assert failed(read(json.dumps(whole).encode())).error.data["code"] == "payload_too_large"


@pytest.mark.parametrize(
    "line",
    [
        b'{"result":{"rows":[{"id":3}],"text":"' + b"x" * CAP + b'"},"jsonrpc":"2.0","more":{"id":4}}',
        b'{"jsonrpc":"2.0","result":{"rows":[{"id":3}],"text":"cut',
        b'{"jsonrpc":"2.0","result":{"text":"\\"id\\":3"},"extra":[}, "id":7}',
        b'{"jsonrpc":"2.0","result":{"rows":[{"id":3}]}}',
        b'[[{"jsonrpc":"2.0","id":3,"result":{}}],{"jsonrpc":"2.0","id":4,"result":{}}]',
    ],
)
def test_an_answer_that_does_not_say_whose_it_is_certainly_is_an_error_for_all_that_wait(line: bytes) -> None:
    """It was one of theirs, and no other answer will come."""
    found = read(line)
    assert isinstance(found, Unreadable)
    assert found.error is not None
    assert found.error.next_step


def test_a_byte_order_mark_is_no_part_of_a_message() -> None:
    """Some runtimes write one before all else."""
    message = read(b"\xef\xbb\xbf" + json.dumps(answer()).encode())
    assert isinstance(message, SessionMessage)
    assert isinstance(message.message, JSONRPCResponse)


def test_messages_of_a_batch_are_read_one_by_one() -> None:
    """One revision of the protocol had them."""
    batch = [answer(), {"jsonrpc": "2.0", "id": 8}, {"jsonrpc": "2.0", "method": "notifications/x"}]
    whole, half, told = read_line(json.dumps(batch).encode(), CAP)
    assert isinstance(whole, SessionMessage)
    assert isinstance(whole.message, JSONRPCResponse)
    assert isinstance(half, SessionMessage)
    assert isinstance(half.message, JSONRPCError)
    assert half.message.id == 8
    assert isinstance(told, SessionMessage)


@pytest.mark.parametrize("junk", [b"\xff\xfe\x00", b"\x00\x00", b"Starting server...", b"{}", b"[1]", b"null"])
def test_what_is_nobodys_answer_is_only_noted(junk: bytes) -> None:
    """Servers print to their output; it must not end the connection, nor anybody's call."""
    found = read(junk)
    assert isinstance(found, Unreadable)
    assert found.error is None


def test_a_blank_line_is_nothing() -> None:
    """Not even worth a note."""
    assert read_line(b"  \r", CAP) == []
