"""Kinds: what a payload is taken for."""

from __future__ import annotations

from pathlib import Path

import pytest

from spillcache.scan import scan

DATA = Path(__file__).parent.parent / "data"


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (b"", "text"),
        (b" \n", "text"),
        (b"{}", "json"),
        (b"[]", "json"),
        (b"null", "json"),
        (b'"a string"', "json"),
        (b"-12.5e3", "json"),
        (b" \r\n\t[1]", "json"),
        (b"\xef\xbb\xbf" + b'{"a":1}', "json"),
        (b'{"a":NaN,"b":-Infinity}', "json"),
        (b'{"a":[1,2', "json"),
        (b'{"a":"no end', "json"),
        (b'{"a":1}{"b":2}', "json"),
        (b"[" * 100_000, "json"),
        (b'{"n":' + b"7" * 20_000 + b"}", "json"),
        (b'{"a":"' + b"x" * 20_000 + b'"}', "json"),
        (b"{not json}", "text"),
        (b"[2024-01-01 10:00:00] started\n" * 9, "text"),
        (b"[INFO] a, b\n" * 9, "text"),
        (b"[1234] a message\n[1235] another\n", "text"),
        (b"12 apples", "text"),
        (b"hello, world", "text"),
        (b"a\x00b\x01c", "text"),
        (b'{"a":1}\n', "json"),
        (b'{"a":1}\n{"b":2}', "ndjson"),
        (b'{"a":1}\r\n\r\n{"b":2}\r\n', "ndjson"),
        (b'{"a":"' + b"x" * 20_000 + b'"}\n{"b":2}\n', "ndjson"),
        (b'{"a":1}\n{"b":\n{"c":3}\n', "ndjson"),
        (b'[\n{"a":1},\n{"b":2}\n]', "json"),
        (b'{\n "a": 1\n}\n{\n "b": 2\n}\n', "json"),
        (b"name,value\na,1\nb,2\n", "csv"),
        (b"name\tvalue\r\na\t1\r\nb\t2\r\n", "csv"),
        (b'a,b\n1,"two\nlines"\n3,4\n', "csv"),
        (b"one,two\nnot a table\nat all\n", "text"),
        (b"\xff\xfe\x00", "bytes"),
        (b'{"a":"\xff"}', "bytes"),
        (b'{"a":"\xed\xa0\x80"}', "bytes"),
        ("漢字".encode()[:-1], "bytes"),
        (b"x" * 600_000 + b"\x80", "bytes"),
    ],
)  # fmt: skip
def test_kind(payload: bytes, kind: str) -> None:
    """The head is held against JSON's grammar, all of it against UTF-8; controls are text."""
    assert scan(payload).kind == kind


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir() if path.suffix in (".json", ".txt")))
def test_real_payloads_are_what_their_names_say(name: str) -> None:
    """Responses of real servers are JSON, the exposition format of metrics is text."""
    assert scan((DATA / name).read_bytes()).kind == {".json": "json", ".txt": "text"}[Path(name).suffix]


def test_a_code_point_across_blocks_is_valid() -> None:
    """Validity does not depend on where blocks end."""
    for shift in range(4):
        assert scan(b"x" * shift + "😀".encode() * 140_000).kind == "text"
