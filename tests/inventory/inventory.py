"""All that somebody may rely on, one line each: what others type, write, send and import, and what they get.

Commands with their options, fields of files, requests with their replies, paths of HTTP, tools and resources of MCP, public
names, settings, promises. It is had from outside wherever that is possible: a change of the inside changes no line.
"""

import difflib
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.inventory import commands, doors, files, library

FILE = Path(__file__).with_name("inventory.txt")
UPDATE = "make inventory"

KINDS: dict[str, Callable[[], Iterator[str]]] = {
    "command": commands.lines,
    "file": files.lines,
    "http": doors.http_lines,
    "mcp": doors.mcp_lines,
    "name": library.name_lines,
    "promise": library.promise_lines,
    "request": doors.request_lines,
    "setting": library.setting_lines,
}


def inventory() -> list[str]:
    """All lines, sorted."""
    return sorted({f"{kind} {' '.join(line.split())}" for kind, make in KINDS.items() for line in make()})


def changes(lines: list[str]) -> list[str]:
    """What appeared (+) and what vanished (-) since the file was written."""
    known = FILE.read_text("utf-8").splitlines() if FILE.exists() else []
    compared = difflib.unified_diff(known, lines, lineterm="", n=0)
    return [line for line in compared if line[:1] in "+-" and line[:3] not in ("+++", "---")]
