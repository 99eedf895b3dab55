"""From the compact view back to JSON: the same values in the same order, numbers as they were spelled."""

from __future__ import annotations

import re

from spillcache.compact.samples import regular_times

_STRING = r'"(?:[^"\\]|\\.)*"'
_SHORT = re.compile(
    rf"(?P<string>{_STRING})"
    r"|(?P<lists>(?:<[^<>]*>)+)"
    rf"|(?P<labels>\{{[A-Za-z_][A-Za-z0-9_.]*=(?:{_STRING}|[^\"{{}}])*\}})",
    re.DOTALL,
)
_LABEL = re.compile(rf"([A-Za-z_][A-Za-z0-9_.]*)=({_STRING}|[^,}}]*)", re.DOTALL)
_AXIS = re.compile(r"(-?[0-9]+)\+([0-9]+)\*([0-9]+)", re.ASCII)


def expand(text: str) -> str:
    """JSON text with the values of the compact view `text`: the chunks of all its pages, one after the other."""
    return _Expanding().run(text)


class _Expanding:
    """The reading of one text; what it remembers is the time of the sample before."""

    def __init__(self) -> None:
        self._time = ""

    def run(self, text: str) -> str:
        return _SHORT.sub(self._long, text)

    def _long(self, found: re.Match[str]) -> str:
        written = found[0]
        if found["string"]:
            return written
        if found["labels"]:
            return f"{{{','.join(map(_label, _LABEL.findall(written)))}}}"
        if axis := _AXIS.fullmatch(written[1:-1]):
            first, step, points = map(int, axis.groups())
            return f"[{','.join(map(str, range(first, first + step * points, step)))}]"
        if ":" not in written:
            time, value = written[1:-1].split(" ")
            self._time = self._time if time == "=" else time
            return f'[{self._time},"{value}"]'
        return f"[{','.join(sample for block in written[1:-1].split('><') for sample in _samples(block))}]"


def _label(pair: tuple[str, str]) -> str:
    name, value = pair
    return f'"{name}":{value}' if value.startswith('"') else f'"{name}":"{value}"'


def _samples(block: str) -> list[str]:
    samples = []
    for run in block.split("; "):
        head, _, rest = run.partition(": ")
        values = [value for written in rest.split(" ") for value in _repeated(written)]
        first, _, step = head.partition("+")
        times = regular_times(first, step, len(values)) if step else [first]
        samples += [f'[{time},"{value}"]' for time, value in zip(times, values, strict=True)]
    return samples


def _repeated(written: str) -> list[str]:
    value, _, times = written.partition("*")
    return [value] * int(times or 1)
