"""An MCP server for tests: `python mcp_server.py [--port N] [--instructions TEXT] [--delay SECONDS] [--tools a,b]`."""

from __future__ import annotations

import argparse
import asyncio
import os
import struct
import sys
import time
import zlib

from mcp.server.mcpserver import Image, MCPServer
from mcp.types import ToolAnnotations


def png(width: int, height: int) -> bytes:
    """Return a grey image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x07" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def made(given: argparse.Namespace) -> MCPServer:
    server = MCPServer("tests", instructions=given.instructions or None)
    tools = given.tools.split(",")

    def add(a: int, b: int = 2, *, flip: bool = False) -> str:
        """Add two numbers."""
        return str(b - a if flip else a + b)

    def die() -> str:
        """End at once."""
        os._exit(3)

    async def sleep(seconds: float) -> str:
        """Sleep."""
        await asyncio.sleep(seconds)
        return "slept"

    def fail() -> str:
        """Fail."""
        raise ValueError("no good")

    def env(name: str) -> str:
        """Tell a variable."""
        return os.environ.get(name, "(none)")

    def pid() -> str:
        """Tell the process."""
        return str(os.getpid())

    def picture() -> Image:
        """Give a picture."""
        return Image(data=png(8, 6), format="png")

    def table() -> dict[str, int]:
        """Give structured content."""
        return {"a": 1}

    for function in (add, die, sleep, fail, env, pid, picture, table):
        if function.__name__ in tools:
            server.tool(annotations=ToolAnnotations(read_only_hint=function in (add, sleep)))(function)
    return server


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--instructions", default="")
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--tools", default="add,die,sleep,fail,env,pid,picture,table")
    options = parser.parse_args()
    sys.stderr.write("to standard error\n")
    time.sleep(options.delay)
    if options.port:
        made(options).run("streamable-http", host="127.0.0.1", port=options.port)
    else:
        made(options).run()
