"""Things that happen while clients read: each page is told to a URL, and before it is answered something may happen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Rehearsal:
    """What is to happen, one after the other, by how many pages all clients together have read by then."""

    def __init__(self, happenings: Mapping[int, Callable[[], None]]) -> None:
        self._happenings = dict(sorted(happenings.items()))
        self._numbers = {at: number for number, at in enumerate(self._happenings)}
        self._done = [threading.Event() for _ in self._happenings]
        self._pages = 0
        self._counting = threading.Lock()
        self.errors: list[Exception] = []

    @property
    def over(self) -> bool:
        """Whether all of it has happened, and as it should."""
        return all(done.is_set() for done in self._done) and not self.errors

    def page(self) -> None:
        """One more page has been read. Only the client whose page it was waits for what happens then."""
        with self._counting:
            self._pages += 1
            page = self._pages
        if page in self._numbers:
            self._happen(self._numbers[page], self._happenings[page])

    def _happen(self, number: int, happens: Callable[[], None]) -> None:
        if number:
            self._done[number - 1].wait()
        try:
            happens()
        except Exception as error:  # the test asks for it; here it would only end a thread
            self.errors.append(error)
        finally:
            self._done[number].set()


@contextmanager
def told(rehearsal: Rehearsal) -> Iterator[str]:
    """The URL to tell of each page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            rehearsal.page()
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Say nothing: the test's own output is what a reader looks for."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
