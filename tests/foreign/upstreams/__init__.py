"""MCP servers of this suite's own, for what no foreign one offers."""
