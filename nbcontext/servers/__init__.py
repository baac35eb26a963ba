"""MCP servers: which there are, their connections, and their tools as ours.

The official SDK speaks the protocol. It is imported when the first server is connected, and runs in a thread of its own
(`loop`), so that a session that waits for a server can be stopped at any moment.
"""
