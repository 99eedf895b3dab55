"""How many pages a walk takes, over the fewest that its budget allows: every page as full as it may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from benchmarks import caches, corpora, scan
from benchmarks.figure import Figure, Findings, Spread, Table
from benchmarks.place import served
from benchmarks.scale import Scale, mib, say
from spillcache import MCP, PLAIN, Wire
from spillcache.page import room_for_chunk
from spillcache.sync import SpillCache

BUDGETS = (1_500, 7_500, 48_000)
WIRES = {"plain": PLAIN, "MCP": MCP}
#: The bar, at the default budget.
BAR, BARRED = 1.10, 7_500


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk: its pages, and the fewest there could be. `sample` says that the corpus is real data or made of it."""

    corpus: str
    sample: bool
    wire: str
    budget: int
    pages: int
    fewest: int

    @property
    def ratio(self) -> float:
        """Pages over the fewest."""
        return self.pages / self.fewest


def measure(scale: Scale) -> Findings:
    """All of this file's figures."""
    with served() as server, caches.open_sync(server.url) as cache:
        walks = [walk for corpus in _corpora(scale) for walk in _walk_all(cache, *corpus)]
    figures = tuple(_figure(walks, wire, budget) for budget, wire in product(BUDGETS, WIRES))
    return Findings(figures, (_detail(walks),))


def _corpora(scale: Scale) -> Iterator[tuple[str, bool, bytes]]:
    for name, payload in corpora.samples().items():
        yield name, True, payload
        yield f"{name}, made {mib(scale.enlarged)}", True, corpora.enlarged(payload, scale.enlarged)
    for name, payload in scan.corpora(1 << 20):
        yield f"generated: {name}", False, payload


def _walk_all(cache: SpillCache, corpus: str, sample: bool, payload: bytes) -> Iterator[Walk]:
    say(f"walks: {corpus}")
    spill_id = cache.put(payload).spill_id
    assert spill_id is not None
    text = payload.decode()
    for (name, wire), budget in product(WIRES.items(), BUDGETS):
        pages = sum(1 for _ in cache.walk(spill_id, budget=budget, wire=wire))
        yield Walk(corpus, sample, name, budget, pages, fewest(text, budget, wire))
    cache.delete(spill_id)


def fewest(text: str, budget: int, wire: Wire) -> int:
    """Pages if each were full to the last byte: no page may be fuller, so no walk can be shorter."""
    return -(-wire.cost(text) // room_for_chunk(budget, wire))


def _figure(walks: list[Walk], wire: str, budget: int) -> Figure:
    these = [walk for walk in walks if walk.sample and walk.wire == wire and walk.budget == budget]
    worst = max(these, key=lambda walk: walk.ratio)
    overall = sum(walk.pages for walk in these) / sum(walk.fewest for walk in these)
    barred = budget == BARRED
    return Figure(
        f"pages of a walk over the fewest, {budget:,} bytes, {wire}: all samples, weighted by pages",
        Spread.of([overall]),
        bar=f"≤ {BAR} ×" if barred else "",
        limit=BAR if barred else None,
        digits=3,
        note=f"worst {worst.ratio:.3f} × ({worst.corpus}: {worst.pages} pages, fewest {worst.fewest})",
    )


def _detail(walks: list[Walk]) -> Table:
    columns = list(product(WIRES, BUDGETS))
    ratios = {(walk.corpus, walk.wire, walk.budget): f"{walk.ratio:.3f}" for walk in walks}
    names = dict.fromkeys(walk.corpus for walk in walks)
    rows = tuple((name, *(ratios[name, wire, budget] for wire, budget in columns)) for name in names)
    header = ("corpus", *(f"{wire} {budget:,}" for wire, budget in columns))
    return Table("Pages of a walk over the fewest that its budget allows", header, rows)
