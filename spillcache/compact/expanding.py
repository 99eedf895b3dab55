"""From the compact view back to JSON: the same values in the same order, numbers as they were spelled."""

from __future__ import annotations

import re

from spillcache.compact.samples import regular_times
from spillcache.series.spelling import TIME, VALUE

_STRING = r'"(?:[^"\\]|\\.)*"'
_SHORT = re.compile(
    rf"(?P<string>{_STRING})"
    r"|(?P<lists>(?:<[^<>]*>)+)"
    rf"|(?P<labels>\{{[A-Za-z_][A-Za-z0-9_.]*=(?:{_STRING}|[^\"{{}}])*\}})",
    re.DOTALL,
)
_LABEL = re.compile(rf"([A-Za-z_][A-Za-z0-9_.]*)=({_STRING}|[^,}}]*)", re.DOTALL)
_AXIS = re.compile(r"(-?[0-9]+)\+([0-9]+)\*([0-9]+)", re.ASCII)
_SAMPLE = re.compile(rf"(=|{TIME}) ({VALUE})", re.ASCII)
_RUN = re.compile(rf"({TIME})(?:\+({TIME}))?:((?: (?:{VALUE})(?:\*[0-9]+)?)+)", re.ASCII)
_SPELLED_STRING = re.compile(_STRING, re.DOTALL)
_ONLY_BETWEEN = str.maketrans("", "", " \t\r\n{},:")


def expand(text: str) -> str:
    """JSON text with the values of the compact view `text`: the chunks of all its pages, one after the other.

    Raises `ValueError` for what is no such text.
    """
    return _Expanding().run(text)


def keeps_time(between: str) -> bool:
    """Whether `=` means the sample before even behind this text: strings, names, commas and braces say no other time.

    `between` begins outside strings.
    """
    return not _SPELLED_STRING.sub("", between).translate(_ONLY_BETWEEN)


class _Expanding:
    """The reading of one text; what it remembers is the time of the sample before."""

    def __init__(self) -> None:
        self._time = ""

    def run(self, text: str) -> str:
        pieces: list[str] = []
        at = 0
        for found in _SHORT.finditer(text):
            pieces += (self._plain(text[at : found.start()]), self._long(found))
            at = found.end()
        return "".join((*pieces, self._plain(text[at:])))

    def _plain(self, text: str) -> str:
        if "<" in text or ">" in text or "=" in text:
            raise ValueError("this is not the text of a compact view")
        if self._time and not keeps_time(text):
            self._time = ""
        return text

    def _long(self, found: re.Match[str]) -> str:
        written = found[0]
        if found["string"]:
            return written
        if found["labels"]:
            return f"{{{','.join(map(_label, _LABEL.findall(written)))}}}"
        if sample := _SAMPLE.fullmatch(written[1:-1]):
            self._time = self._time if sample[1] == "=" else sample[1]
            if not self._time:
                raise ValueError("= stands where no time was said before")
            return f'[{self._time},"{sample[2]}"]'
        self._time = ""
        if axis := _AXIS.fullmatch(written[1:-1]):
            first, step, points = map(int, axis.groups())
            return f"[{','.join(map(str, range(first, first + step * points, step)))}]"
        return f"[{','.join(sample for block in written[1:-1].split('><') for sample in _samples(block))}]"


def _label(pair: tuple[str, str]) -> str:
    name, value = pair
    return f'"{name}":{value}' if value.startswith('"') else f'"{name}":"{value}"'


def _samples(block: str) -> list[str]:
    samples = []
    for written in block.split("; "):
        run = _RUN.fullmatch(written)
        if run is None:
            raise ValueError(f"not a list of samples: <{written[:80]}>")
        first, step, rest = run.groups()
        values = [value for one in rest[1:].split(" ") for value in _repeated(one)]
        times = regular_times(first, step, len(values)) if step else [first]
        samples += [f'[{time},"{value}"]' for time, value in zip(times, values, strict=True)]
    return samples


def _repeated(written: str) -> list[str]:
    value, _, times = written.partition("*")
    return [value] * int(times or 1)
