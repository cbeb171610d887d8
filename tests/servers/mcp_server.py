"""A small MCP server over standard input and output: `python -m tests.servers.mcp_server [FOLDER]`."""

import os
import sys
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("tickets")


@server.tool()
def get_ticket(number: int) -> dict[str, object]:
    """Look at a ticket."""
    return {"number": number, "about": "sluice gate 2"}


@server.tool()
def open_ticket(about: str) -> str:
    """Open a ticket."""
    if not about:
        raise ValueError("a ticket is about something")
    with (Path(sys.argv[1]) / "opened").open("a", encoding="utf-8") as file:
        file.write(f"{about}\n")
    return f"opened: {about}"


@server.tool()
def environment() -> list[str]:
    """Tell which variables there are."""
    return sorted(os.environ)


@server.tool()
def sign_in() -> str:
    """Say more than one should."""
    return f"signed in with {os.environ['TICKETS']}"


@server.tool()
def sign_out() -> str:
    """Fail, and say as much."""
    raise ValueError(f"nobody is {sign_in()}")


class Sure(BaseModel):
    """The answer to whether it should be done."""

    sure: bool


async def confirmed(number: int) -> Elicit[Sure]:
    """Ask whoever uses the client."""
    return Elicit(f"Close ticket {number}?", Sure)


@server.tool()
async def close_ticket(number: int, answer: Annotated[ElicitationResult[Sure], Resolve(confirmed)]) -> str:
    """Close a ticket, if a person is sure."""
    if not isinstance(answer, AcceptedElicitation):
        return f"not closed: {answer.action}"
    with (Path(sys.argv[1]) / "closed").open("a", encoding="utf-8") as file:
        file.write(f"{number}\n")
    return f"closed: {answer.data.sure}"


@server.tool()
def crash() -> str:
    """End the server."""
    os._exit(1)


if __name__ == "__main__":
    server.run()
