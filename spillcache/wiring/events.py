"""Events: one line of log for each act, so that "what was this agent given?" is one query afterwards.

| event | said of it |
|---|---|
| `spill_written` | spill, tool, kind, size, stored |
| `page_served` | spill, tool, walk, from, to, size, status (result_status, view) |
| `walk_completed` | spill, tool, walk, size, of: the last byte of a payload, or of one result, went out |
| `answered` | verb, spill: any other act, such as a search, a list, a full read (beside its page) or a download |
| `error` | verb, code, retryable, and the spill where one was named |

`spill_refused` (tool, size, code) is the core's own log line; neither it nor the error behind it is said twice.
`spill` is `spill_mark` of the id; request and trace ids are added where logs are rendered (`logs.py`). No payload, id,
cursor or token is in them.
"""

from __future__ import annotations

import logging
from typing import Any

from spillcache.errors import RequestError, SpillError
from spillcache.shown import shown_name
from spillcache.watch import Served, Verb, Written, spill_mark
from spillcache.wiring.acts import ActWatcher

_log = logging.getLogger("spillcache.events")

_SAID_BY_THEMSELVES = frozenset[Verb](("put", "page"))


class Events(ActWatcher):
    """Writes them to the logger `spillcache.events`, errors as warnings."""

    def ended(self, verb: Verb, spill_id: str, took_s: float, error: BaseException | None) -> None:
        """Says how an act failed, or that one was done that has no line of its own. Cancelled ones are not said."""
        if error is None:
            if verb not in _SAID_BY_THEMSELVES:
                _log.info("answered", extra={"verb": verb, "spill": _mark(spill_id)})
        elif isinstance(error, Exception) and not _is_refusal(verb, error):
            _say_error(verb, error, spill_id)

    def spill_written(self, written: Written) -> None:
        """See the table."""
        said: dict[str, Any] = {"spill": spill_mark(written.spill_id), **_tool(written.tool), "kind": written.kind}
        _log.info("spill_written", extra={**said, "size": written.size, "stored": written.stored})

    def page_served(self, served: Served) -> None:
        """See the table."""
        walk: dict[str, Any] = {"spill": spill_mark(served.spill_id), **_tool(served.tool), "walk": served.walk}
        said = {**walk, "from": served.start, "to": served.end, "size": served.size, "status": served.status}
        whole, one = served.status == "COMPLETE", served.result_status == "COMPLETE"
        if served.view != "raw":
            said["view"] = served.view
        _log.info("page_served", extra={**said, "result_status": "COMPLETE"} if one else said)
        if whole or one:
            _log.info("walk_completed", extra={**walk, "size": served.size, "of": "payload" if whole else "result"})

    def failed(self, where: str, error: SpillError) -> None:
        """See the table."""
        _say_error(where, error, "")


def _is_refusal(verb: Verb, error: Exception) -> bool:
    """Faces write through `offer` and `spill`, whose failures the core says as `spill_refused`."""
    return verb == "put" and isinstance(error, SpillError) and not isinstance(error, RequestError)


def _say_error(verb: str, error: Exception, spill_id: str) -> None:
    said: dict[str, Any] = {"verb": verb}
    if isinstance(error, SpillError):
        said |= {"code": error.code, "retryable": error.retryable}
    else:
        said |= {"code": "internal", "type": type(error).__name__}
    if spill_id:
        said["spill"] = _mark(spill_id)
    _log.warning("error", extra=said)


def _mark(given: str) -> str:
    """Ids may come in either case: the mark is that of the id as it was given out."""
    return spill_mark(given.strip().lower())


def _tool(name: str) -> dict[str, str]:
    return {"tool": shown_name(name)} if name else {}
