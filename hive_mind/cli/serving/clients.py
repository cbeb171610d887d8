"""Configuration files of programs that start MCP servers."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any

from hive_mind.errors import InvalidInput
from hive_mind.runtime.files import write_whole
from hive_mind.runtime.settings import settings_given


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
    named = [("--home", str(home.absolute())), ("--agent", agent), ("--fleet", fleet)]
    return ["-m", "hive_mind", "mcp", *(text for option, value in named if value for text in (option, value))]


def configuration(client: Client, folder: Path, arguments: list[str]) -> tuple[Path, str]:
    """A client's file, and all that is to stand in it. Raises `InvalidInput` for one that is no JSON object."""
    path, key = _FILES[client]
    file = folder / path
    known = _read(file)
    servers = known.setdefault(key, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"{file}: {key} is no object; mend it, or remove the file")
    servers[_NAME] = {"command": sys.executable, "args": arguments} | ({"env": given} if (given := settings_given()) else {})
    return file, json.dumps(known, indent=2, ensure_ascii=False)


def write(file: Path, text: str) -> None:
    """Put it there, whole or not at all. Raises `OSError`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text.encode() + b"\n")


def _read(file: Path) -> dict[str, Any]:
    try:
        known = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise InvalidInput(f"{file} can't be read: {error}; mend it, or remove it") from None
    if not isinstance(known, dict):
        raise InvalidInput(f"{file} holds no JSON object; mend it, or remove it")
    return known
