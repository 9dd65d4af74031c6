"""Model Context Protocol: the agent tools as an MCP server, over HTTP and over stdio."""
