"""The MCP server: a vault for every agent that speaks the Model Context Protocol.

``lamina mcp`` runs it. It is built on the protocol's official SDK, the extra ``lamina[mcp]``; nothing else of Lamina
imports that.
"""
