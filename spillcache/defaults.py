"""The defaults, each in one place: `Terms`, the store, the constructors and the settings all take them from here."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "sc"
TENANT: Final = "default"
TOOL_NAME: Final = "search_query_spill"

TTL_S: Final = 900.0  # an agent that reads on at all does so within minutes
MAX_AGE_S: Final = 86_400.0
READ_DEADLINE_S: Final = 2.0
WRITE_DEADLINE_S: Final = 10.0

BUDGET_BYTES: Final = 7_500  # the tightest known hosts move results above 8 KB elsewhere
MAX_PAYLOAD_BYTES: Final = 256 << 20
PREVIEW_BYTES: Final = (1024, 256)  # head and tail: verdicts stand on last lines
SCAN_WINDOW_BYTES: Final = 128 << 20
STREAM_WINDOW_BYTES: Final = 8 << 20

CONCURRENCY: Final = 16  # more gain nothing on one core, and wait longer
WAIT_REPLICAS: Final = 0

HOST: Final = "127.0.0.1"  # more needs credentials
PORT: Final = 8321
METRICS_PORT: Final = 9321
DRAIN_S: Final = 5.0  # longer than endpoints take to leave a Service; the pod's grace period must be longer still
GRACE_S: Final = 15.0  # a write's deadline, and some seconds for the upload that led to it
# Whatever a client asks for: Python clients refuse an SSE event over 1 MiB, and HTTP of the 2026-07-28 protocol sends
# Cyrillic text, for instance, as `\uXXXX`, which is three times what is counted.
MAX_PAGE_BYTES: Final = 320 << 10
MEDIA_BYTES: Final = 512 << 10  # pictures and sound are ASCII (base64), and hosts count them apart from text
MAX_CALLERS: Final = 64  # of a proxy over HTTP; each may mean a child process, of some 50 MB, for each upstream
MAX_REQUEST_BYTES: Final = 4 << 20  # body of an MCP request; REST uploads are bound by MAX_PAYLOAD_BYTES
FULL_BYTES: Final = 64 << 10  # a full read: some 30,000 tokens of metrics, which most contexts still hold
MAX_MATCHES: Final = 10
CONTEXT_BYTES: Final = 120  # on either side of a match: with it, ten matches fill two thirds of the default budget
