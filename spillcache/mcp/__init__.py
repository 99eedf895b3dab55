"""The MCP face: the paging tool, a resource and a prompt, over streamable HTTP and stdio."""
