"""An MCP server with a till: what is paid is a line in a file, and to pay takes a while, so that it can be interrupted."""

import sys
import time
from pathlib import Path

from mcp.server import MCPServer

_TAKES_S = 0.2

server = MCPServer("till")


@server.tool()
def pay(what: str) -> str:
    """Pay for something. Whoever pays twice has paid twice."""
    time.sleep(_TAKES_S)
    with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
        file.write(f"{what}\n")
    time.sleep(_TAKES_S)
    return f"paid for {what}"


if __name__ == "__main__":
    server.run()
