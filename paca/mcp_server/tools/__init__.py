"""The tools that MCP clients call, each one class that asks addresses of the REST API."""
