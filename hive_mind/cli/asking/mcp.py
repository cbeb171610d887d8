"""`hive-mind mcp`: an agent's memory for a program that speaks the Model Context Protocol."""

import asyncio
import json
import secrets
import select
import sys
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import Agent, Fleet
from hive_mind.cli.asking.serve import resident_agent
from hive_mind.cli.options import Group, examples, settings_for
from hive_mind.cli.output import say, show
from hive_mind.cli.running import command
from hive_mind.errors import BackendNotInstalled, InvalidInput, reason_of
from hive_mind.runtime.settings import secret, settings_given
from hive_mind.safe_files import write_whole


class Client(StrEnum):
    """Programs that read such a file in a project's folder."""

    CLAUDE = "claude"
    CURSOR = "cursor"
    VSCODE = "vscode"


# Where it lies, and under which key the servers stand.
_FILES = {
    Client.CLAUDE: (Path(".mcp.json"), "mcpServers"),
    Client.CURSOR: (Path(".cursor/mcp.json"), "mcpServers"),
    Client.VSCODE: (Path(".vscode/mcp.json"), "servers"),
}
_NAME = "hive-mind"


def arguments(agent: str, fleet: str, home: Path) -> list[str]:
    """How the server is started. The home is written out: a client starts it from some folder of its own."""
    options = [("--home", str(home.absolute())), ("--agent", agent), ("--fleet", fleet)]
    return ["-m", "hive_mind", "mcp", *(text for option, value in options if value for text in (option, value))]


def configuration(client: Client, folder: Path, arguments: list[str]) -> tuple[Path, str]:
    """A client's file, and all that is to stand in it. Raises `InvalidInput` for one that is no JSON object."""
    path, key = _FILES[client]
    file = folder / path
    document = _read(file)
    servers = document.setdefault(key, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"{file}: {key} is not an object; mend it, or remove the file")
    servers[_NAME] = {"command": sys.executable, "args": arguments} | (
        {"env": settings} if (settings := settings_given()) else {}
    )
    return file, json.dumps(document, indent=2, ensure_ascii=False)


def write(file: Path, text: str) -> None:
    """Put it there, whole or not at all. Raises `OSError`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text.encode() + b"\n")


def _read(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise InvalidInput(f"{file} can't be read: {reason_of(error)}; mend it, or remove it") from None
    if not isinstance(document, dict):
        raise InvalidInput(f"{file} holds no JSON object; mend it, or remove it")
    return document


_EPILOG = examples(
    "hive-mind mcp",
    "hive-mind mcp --agent ines --allow-retract",
    "hive-mind mcp --http 8765",
    "hive-mind mcp install claude",
)

group = Group(name="mcp", epilog=_EPILOG)

ForClient = Annotated[Client, typer.Argument(metavar="CLIENT", help=f"{', '.join(Client)}.")]


@group.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    agent: Agent = "",
    fleet: Fleet = "",
    allow_retract: Annotated[bool, typer.Option("--allow-retract", help="Let clients take facts back.")] = False,
    http: Annotated[
        int, typer.Option("--http", min=0, max=65535, metavar="PORT", help="Serve over HTTP on this port.", show_default=False)
    ] = 0,
    home: options.Home = None,
) -> None:
    """Serve an agent's memory over standard input and output, or over HTTP on this machine.

    A client starts this command itself: `hive-mind mcp install` writes its configuration. With --http it runs until Ctrl-C, and
    clients present a token: that of HIVE_MIND_MCP_TOKEN, or the one that is printed. It opens no database itself: it asks the
    process that has it open, and starts one where there is none. So any number of clients can use one memory at once.
    """
    if context.invoked_subcommand is None:
        _serve(home, fleet, agent, allow_retract, http)


def is_at_end(descriptor: int) -> bool:
    """Whether nothing will come from there any more: a shell closed it, it is /dev/null, or its writer is gone."""
    if sys.platform == "win32":
        return False
    import fcntl
    import termios

    watch = select.poll()
    watch.register(descriptor, select.POLLIN)
    if not watch.poll(0):
        return False
    try:
        return not int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
    except OSError:
        # Of a device that never has anything.
        return True


@command
async def _serve(home: Path | None, fleet: str, agent: str, allow_retract: bool, port: int) -> None:
    if find_spec("mcp") is None:
        raise BackendNotInstalled("mcp", "server", "mcp")
    if not port and is_at_end(sys.stdin.fileno()):
        # A process of the agent would stay behind for nobody.
        raise InvalidInput("standard input is closed: a client starts this itself and writes to it, see hive-mind mcp install")
    # While the other process starts: loading the protocol takes longer than loading what starts it.
    loading = asyncio.create_task(asyncio.to_thread(import_module, "hive_mind.mcp.server"))
    async with resident_agent(settings_for(home), fleet, agent) as served:
        server = (await loading).memory_server(served, allows_retract=allow_retract)
        if not port:
            say(f"serving agent {served.name} of fleet {served.fleet} over standard input and output", style="dim")
            from hive_mind.mcp.stdio import serve_stdio

            await serve_stdio(server)
            return
        from hive_mind.mcp.http import HOST, PATH, listening, serve_http

        listener = listening(port)
        token = secret("MCP_TOKEN") or secrets.token_urlsafe(32)
        say(f"serving agent {served.name} of fleet {served.fleet} at http://{HOST}:{port}{PATH}")
        if not secret("MCP_TOKEN"):
            say(f"token: {token}")
        await serve_http(server, listener, token)


@group.called_as("hive-mind mcp install cursor", "hive-mind mcp install vscode --agent ines --yes")
def install(client: ForClient, agent: Agent = "", fleet: Fleet = "", home: options.Home = None, yes: options.Yes = False) -> None:
    """Register the memory with a client for this project: shows what it would write, asks, and writes it.

    Other servers in the file stay as they are.
    """
    file, text = configuration(client, Path.cwd(), arguments(agent, fleet, settings_for(home).home))
    show(f"{file}:")
    show(text)
    if yes or typer.confirm("write it?", err=True):
        write(file, text)
        say(f"{file} is written; start {client} anew to use it")
