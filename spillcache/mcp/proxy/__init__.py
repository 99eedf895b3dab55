"""The MCP proxy: any upstream server, its oversized results spilled, the paging tool added.

The data's way: `server` (what is served) → `relay` (one method, one way) → `calls` and `lists` (what is changed on the
way) → `links` (whose connection) → `link` (one connection, kept alive) → `session` (one negotiated connection) →
`child` or `endpoint` (the bytes; `lines`, `inflight` and `events` see to it that no answer goes astray). Results stay
plain dicts all the way, so that what a newer protocol adds survives.
"""
