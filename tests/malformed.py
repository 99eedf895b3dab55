"""Documents as they really arrive: cut short, damaged, glued together, hostile. The same ones in every run."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

_SEED = 20_26
_ODD_BYTES = b'{}[]",:\\\n\r\t \x00\x01\x0b\x1f\x7f0-eEunt'
_ODD_PIECES = (
    b"\\", b'\\"', b"\\u", b"\\ud8", b"\\ud83d", b"\\ude00", b"\\ud83d\\ude00", b"\\ud83d\\ud83d\\ude00", b"\\q",
    b"\\u12\xc3\xa9", b"\\\\\\", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\x00", b"NaN", b"-Infinity", b"None", b"/* note */",
    b"}", b"]", b"{", b"[", b",,", b":", b'"', b"'", b"[[[[", b"]]]]", "é".encode(), "漢字".encode(), "😀".encode(),
)  # fmt: skip


def malformed() -> Iterator[tuple[str, bytes]]:
    """Some four hundred named documents, most of 0 to 8 KB, a few of a megabyte; UTF-8 unless the name says not."""
    yield from _handmade()
    generator = random.Random(_SEED)  # noqa: S311  repeatable, not secret
    for number in range(40):
        document = _document(generator)
        for name, damage in _DAMAGES.items():
            yield f"{name}-{number}", damage(document, generator)


def _handmade() -> Iterator[tuple[str, bytes]]:
    whole = _document(random.Random(1))  # noqa: S311
    yield "empty", b""
    yield "one byte", b"{"
    yield "only blanks", b" \n\t \r\n"
    yield "only a BOM", b"\xef\xbb\xbf"
    yield "BOM before a document", b"\xef\xbb\xbf" + whole
    yield "null", b"null"
    yield "empty list", b"[]"
    yield "empty object", b"{}"
    yield "NUL bytes", b"\x00" * 1500
    yield "controls", bytes(range(32)) * 60
    yield "deep lists", b"[" * 100_000
    yield "deep lists, closed", b"[" * 100_000 + b"1" + b"]" * 100_000
    yield "deep objects", b'{"data":' * 100_000 + b"1" + b"}" * 100_000
    yield "unbalanced closers", b'{"a":[1,2]}' + b"]}" * 2000 + b',{"b":[1,2,3]}'
    yield "closers first", b"]" * 700 + whole
    yield "a number of 5,000 digits", b'{"n":' + b"7" * 5000 + b',"results":[{"name":"a"},{"name":"b"}]}'
    yield "a megabyte of backslashes", b"\\" * (1 << 20)
    yield "an odd number of backslashes in a string", b'{"a":"' + b"\\" * 70_001 + b'","b":[1,2]}'
    yield "an even number of backslashes in a string", b'{"a":"' + b"\\" * 70_000 + b'","b":[1,2]}'
    yield "a megabyte of quotes", b'"' * (1 << 20)
    yield "a string that never ends", b'{"a":"' + b"x" * 9000
    yield "commas only", b"," * 3000
    yield "concatenated", whole + whole
    yield "concatenated, with blanks", whole + b"\n\n" + whole + b" "
    yield "a document, then rubbish", whole + b" trailing rubbish, and more"
    yield "repeated keys", b'{"results":{' + b'"A":{"x":[1]},' * 40 + b'"A":{"x":[2]}}}'
    yield "NaN and Infinity", b'{"results":[{"name":"a","v":NaN},{"name":"b","v":-Infinity}]}'
    yield "CRLF", json.dumps(json.loads(whole), indent=2).replace("\n", "\r\n").encode()
    yield "lone surrogates", b'{"a":["' + b"\\ud83d" * 300 + b'","' + b"\\ude00" * 300 + b'"]}'
    yield "escaped pairs", b'["' + b"\\ud83d\\ude00" * 400 + b'"]'
    yield "emoji", ('["' + "😀" * 900 + '"]').encode()
    yield "log lines", b"".join(b'[2026-11-30T12:00:%02d] level=info, msg="a {b"\n' % second for second in range(60))
    yield (
        "NDJSON with broken lines",
        _lines(b'{"id":%d,"v":[1,2,{"k":"x"}]}', b'{"id": "no end', b"]]}", b"", b'{"a":[[['),
    )
    yield "NDJSON whose quotes never close", _lines(b'{"id":%d,"t":"say \\"hi\\", twice"}', b'{"t":"open')
    yield "CSV with line ends in fields", b"a,b,c\r\n" + b'1,"two\r\nlines, and a comma",3\r\n' * 80
    yield "not UTF-8: latin-1", '{"city":"Zürich"}'.encode("latin-1") * 90
    yield "not UTF-8: cut code point", '{"a":"漢字"}'.encode()[:-4]
    yield "not UTF-8: encoded surrogates", b'{"a":"\xed\xa0\xbd\xed\xb8\x80"}'
    yield "not UTF-8: late", b'{"a":"' + b"x" * 3000 + b'\xff"}'


def _lines(good: bytes, *bad: bytes) -> bytes:
    lines = [bad[number % 7] if number % 7 < len(bad) and number > 2 else good % number for number in range(120)]
    return b"\n".join(lines)


def _document(generator: random.Random) -> bytes:
    value = {"status": "success", "data": {"result": [_value(generator, 4) for _ in range(generator.randint(2, 12))]}}
    text = json.dumps(
        value,
        ensure_ascii=generator.random() < 0.5,
        indent=generator.choice((None, None, 2)),
        separators=generator.choice(((",", ":"), (", ", ": "))),
    )
    return text.encode()


def _value(generator: random.Random, depth: int) -> object:
    choice = generator.random()
    if depth and choice < 0.3:
        return [_value(generator, depth - 1) for _ in range(generator.randint(0, 6))]
    if depth and choice < 0.7:
        keys = generator.sample(("name", "metric", "values", "id", "a", 'qu"ote', "é", "b\\", "data", ""), 4)
        return {key: _value(generator, depth - 1) for key in keys}
    if choice < 0.85:
        return "".join(generator.choice('abc ,[]{}:"\\\n\t\x00\x1fé漢😀') for _ in range(generator.randint(0, 40)))
    return generator.choice((None, True, False, 0, -1.5e300, 10**25, 1796040099.122))


def _truncate(document: bytes, generator: random.Random) -> bytes:
    cut = generator.randrange(len(document))
    while document[cut] & 0xC0 == 0x80:
        cut -= 1
    return document[:cut]


def _replace_ascii(document: bytes, generator: random.Random, among: bytes, by: bytes) -> bytes:
    damaged = bytearray(document)
    places = [at for at, byte in enumerate(document) if byte in among]
    for place in generator.sample(places, min(len(places), generator.randint(1, 6))):
        damaged[place] = generator.choice(by)
    return bytes(damaged)


def _insert(document: bytes, generator: random.Random) -> bytes:
    for _ in range(generator.randint(1, 5)):
        cut = len(_truncate(document, generator))
        document = document[:cut] + generator.choice(_ODD_PIECES) * generator.choice((1, 1, 2, 90)) + document[cut:]
    return document


def _drop(document: bytes, generator: random.Random) -> bytes:
    for _ in range(generator.randint(1, 5)):
        first, second = sorted((len(_truncate(document, generator)), len(_truncate(document, generator))))
        document = document[:first] + document[min(second, first + 40) :].lstrip(bytes(range(0x80, 0xC0)))
    return document


def _soup(document: bytes, generator: random.Random) -> bytes:
    return document[:30].decode("utf-8", "ignore").encode() + bytes(
        generator.choices(_ODD_BYTES, k=generator.randint(1, 3000))
    )


_DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "sound": lambda document, _: document,
    "truncated": _truncate,
    "flipped brackets": lambda document, generator: _replace_ascii(document, generator, b"[]{}", b"[]{}"),
    "lost quotes": lambda document, generator: _replace_ascii(document, generator, b'"', b" '"),
    "odd bytes": lambda document, generator: _replace_ascii(document, generator, bytes(range(0x80)), _ODD_BYTES),
    "odd pieces": _insert,
    "lost pieces": _drop,
    "doubled": lambda document, generator: document + _truncate(document, generator) + document,
    "lines": lambda document, generator: b"\n".join(
        [document.replace(b"\n", b" "), _insert(document, generator), document] * 2
    ),
    "soup": _soup,
}
