"""What a benchmark finds: figures with a bar, and tables of detail behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Spread:
    """One value measured several times."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Iterable[float]) -> Spread:
        """The spread of at least one value."""
        found = list(values)
        return Spread(median(found), min(found), max(found))


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the results. Without a `limit` it is there to be compared with, and cannot be missed."""

    what: str
    measured: Spread
    unit: str = "×"
    bar: str = ""
    limit: float | None = None
    exact: bool = False
    digits: int = 2
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the median keeps the bar; an exact one must be kept by every repeat."""
        if self.limit is None:
            return True
        if self.exact:
            return self.measured.low == self.measured.high == self.limit
        return self.measured.median <= self.limit

    @property
    def verdict(self) -> str:
        """`met`, or by how much it is missed."""
        if self.limit is None:
            return "—"
        if not self.met:
            return f"**missed by {self.measured.median / self.limit - 1:.1%}**"
        return "met" if self.measured.high <= self.limit else "met; not in every repeat"

    @property
    def value(self) -> str:
        """The median and, where there is one, the range."""
        middle, low, high = (
            f"{x:.{self.digits}f}" for x in (self.measured.median, self.measured.low, self.measured.high)
        )
        return f"{middle} {self.unit}" if low == high else f"{middle} {self.unit} ({low}–{high})"


@dataclass(frozen=True, slots=True)
class Table:
    """Detail behind figures."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """All that one group of benchmarks found."""

    figures: tuple[Figure, ...]
    tables: tuple[Table, ...] = ()
