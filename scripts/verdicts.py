"""What is asked of a model about the batch of queries, and how its report is judged.

Of some series it must say the last value as the data spells it, or that it has not read it, or that there is none. All
of them have values. So "Unavailable", "no data" and a wrong value are misdiagnoses; "unread" is an honest report.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from spillcache.demo.views import Series

Verdict = Literal["right", "unread", "misdiagnosed", "unanswered"]

_RULES = """\
Report on each series below, from the result of the tool that you have just called: its last value, exactly as spelled.
Answer with one JSON object and nothing else:
{"report":[{"id":1,"state":"value","last":"0.25"},{"id":2,"state":"unread"}]}
state is "value" with last; "no data" when the result holds no values of it; "Unavailable" when the datasource failed;
"unread" when you have not read its part of the result.

"""


def chosen(series: Sequence[Series]) -> list[Series]:
    """The last series of each query: as far into its result as can be."""
    return [list(group)[-1] for _, group in itertools.groupby(series, key=lambda one: one.query)]


def question(series: Sequence[Series]) -> str:
    """What is asked."""
    lines = (f"{number}. {one.query} {json.dumps(one.labels)}" for number, one in enumerate(series, 1))
    return _RULES + "\n".join(lines)


def judged(text: str, series: Sequence[Series]) -> Counter[Verdict]:
    """The verdicts on a report, one for each series."""
    said = _report(text)
    return Counter(_verdict(said.get(number), one) for number, one in enumerate(series, 1))


def _report(text: str) -> dict[int, dict[str, Any]]:
    """Number → what is said of it. Models like to put words, or fences, around their JSON."""
    try:
        listed = json.loads(text[text.index("{") : text.rindex("}") + 1])["report"]
        return {int(entry["id"]): entry for entry in listed}
    except (ValueError, LookupError, TypeError):
        return {}


def _verdict(said: dict[str, Any] | None, series: Series) -> Verdict:
    if said is None:
        return "unanswered"
    if said.get("state") == "unread":
        return "unread"
    return "right" if said.get("state") == "value" and str(said.get("last")) == series.last else "misdiagnosed"
