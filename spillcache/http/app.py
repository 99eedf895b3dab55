"""The REST face as one ASGI app."""

from __future__ import annotations

from importlib import metadata
from typing import Final

from fastapi import Depends, FastAPI

from spillcache import SpillCache, defaults
from spillcache.http import content, hatches, reading, uploads
from spillcache.http.document import DocumentedAPI
from spillcache.http.parameters import each_once
from spillcache.http.problems import answer_errors
from spillcache.http.serving import Serving

MOUNT: Final = "/v1"

_DESCRIPTION: Final = (
    "Stores large results once and serves them page by page. Pages in a row are the payload, byte for byte; every "
    "answer says how much has been delivered, and a failed retrieval is never empty data. Errors are problem documents."
)


def rest_app(
    cache: SpillCache,
    *,
    budget: int = defaults.BUDGET_BYTES,
    full_bytes: int = defaults.FULL_BYTES,
    max_page_bytes: int = defaults.MAX_PAGE_BYTES,
) -> FastAPI:
    """The routes on `cache`, to be mounted at `MOUNT` behind an edge that puts a `Caller` into the scope.

    `budget` is the size of an answer whose request names none, `full_bytes` that of a full read, and `max_page_bytes`
    the cap whatever it names, in bytes.
    """
    app = DocumentedAPI(
        title="spillcache",
        version=metadata.version("spillcache"),
        description=_DESCRIPTION,
        servers=[{"url": MOUNT}],
        root_path_in_servers=False,
        docs_url=None,  # its pages would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        # Addresses hold spill ids and cursors, and FastAPI's own spans hold addresses.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    app.state.serving = Serving(cache=cache, budget=budget, full_bytes=full_bytes, max_page_bytes=max_page_bytes)
    for part in (uploads, reading, hatches, content):
        app.include_router(part.router, dependencies=[Depends(each_once)])
    answer_errors(app)
    return app
