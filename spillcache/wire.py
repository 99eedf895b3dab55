"""How a face carries an answer to the agent, and what that costs in bytes.

An agent's envelope is filled by what is *sent*: the text after JSON escaping, in every copy of it. An answer that REST
or the command line prints is escaped once. An MCP tool result is a JSON text inside a JSON string, so its text is
escaped twice, and a face that adds structured content sends a second copy. All sizes here are bytes on that wire, and
they are measured with the serialiser that sends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from spillcache.errors import ArgumentsInvalid


@dataclass(frozen=True, slots=True)
class Wire:
    """How one face sends an answer.

    `copies` holds, for each copy of the answer, how many times its text is escaped (1 or 2). `ascii_only` says that the
    face escapes everything beyond ASCII, as Python's `json.dumps` does by default. `wrapper` is the constant number of
    bytes that surrounds the answer.
    """

    copies: tuple[int, ...] = (1,)
    ascii_only: bool = False
    wrapper: int = 0

    def __post_init__(self) -> None:
        if not self.copies or any(times not in (1, 2) for times in self.copies) or self.wrapper < 0:
            raise ArgumentsInvalid("copies must name 1 or 2 escapes for each of at least one copy, wrapper must be ≥ 0")

    def size(self, answer: Mapping[str, Any]) -> int:
        """Bytes of a whole answer as this face sends it."""
        once = self._dumps(answer)
        sizes = (len(once) if times == 1 else len(self._dumps(once.decode())) for times in self.copies)
        return self.wrapper + sum(sizes)

    def added(self, fields: Mapping[str, Any]) -> int:
        """Bytes that fields add to an answer that has others."""
        return self.size({"": "", **fields}) - self.size({"": ""})

    def element(self, answer: Mapping[str, Any]) -> int:
        """Bytes that an object and its comma add to a list in an answer."""
        return self.size(answer) - self.wrapper + len(self.copies)

    def cost(self, text: str) -> int:
        """Bytes that `text` takes inside an answer, all copies together, without the quotes around it."""
        once = self._dumps(text)
        # Escaping again also escapes the two quotes that the first time put around the text: 2 + 4 bytes.
        costs = (len(once) - 2 if times == 1 else len(self._dumps(once.decode())) - 6 for times in self.copies)
        return sum(costs)

    def carried(self, text: str, *, is_json: bool) -> int:
        """Bytes of a tool's own result on this wire: a JSON text, or a string, which a JSON answer must quote."""
        quoted = len(self._dumps(text))
        plain = len(text.encode("utf-8", "surrogatepass")) if is_json else quoted
        return self.wrapper + sum(plain if times == 1 else quoted for times in self.copies)

    def payload_cost(self, size: int, extra_once: int, extra_twice: int, *, binary: bool) -> int:
        """Bytes that a whole payload takes as chunks of pages, given what escaping adds; binary data goes as base64.

        An estimate where `ascii_only`, which is then not counted.
        """
        if binary:
            return len(self.copies) * -(-size // 3) * 4
        return sum(size + (extra_once if times == 1 else extra_twice) for times in self.copies)

    def _dumps(self, value: object) -> bytes:
        if self.ascii_only:
            return _ascii(value)
        return sent_json(value)


def sent_json(value: object) -> bytes:
    """JSON as it is sent. What orjson refuses (integers over 64 bits, lone surrogates) the standard library writes."""
    try:
        return orjson.dumps(value)
    except TypeError:  # orjson's errors are all of this type
        return _ascii(value)


def _ascii(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def most_that_fits(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `most` that fits, 0 if none does; what is smaller than one that fits must fit too."""
    if fits(most):
        return most
    low, high = 0, max(most - 1, 0)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


#: The library, REST and the command line: one copy, escaped once.
PLAIN = Wire()

#: An MCP tool result with one text block: `{"content":[{"type":"text","text":"…"}],"isError":false}` around it.
MCP = Wire(copies=(2,), wrapper=len('{"content":[{"type":"text","text":}],"isError":false}'))
