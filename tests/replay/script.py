"""A file of a replay: requests at the beginning of lines, and below each, indented, the reply it had when the file was written.

    $ ask "When?" -o json        a command line; `<<< TEXT` behind it is its standard input
    > POST worker /v1/… BODY     a request over HTTP to a process of the fleet
    @ tools/call PARAMETERS      a request over MCP

Behind the sign, `~` asks for the names in the reply alone, `?` for how it ended. `#` begins a remark.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# In the order in which they are played: nothing runs, then something does.
DOORS = ("commands", "served", "http", "mcp")
_SIGNS = "$>@"


@dataclass(frozen=True)
class Step:
    """A request, with the remarks before it."""

    sign: str
    how: str
    text: str
    remarks: tuple[str, ...]

    @property
    def line(self) -> str:
        return f"{self.sign}{self.how} {self.text}"


def steps_of(file: Path) -> list[Step]:
    steps, remarks = list[Step](), list[str]()
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("#"):
            remarks.append(line)
        elif line[:1] and line[0] in _SIGNS:
            how = line[1] if line[1:2] in ("~", "?") else ""
            steps.append(Step(line[0], how, line[1 + len(how) :].strip(), tuple(remarks)))
            remarks.clear()
    return steps


def played(steps: list[Step], reply: Callable[[Step], list[str]]) -> str:
    """The text of the file, with the replies of today."""
    blocks = ["\n".join([*step.remarks, step.line, *(f"  {line}".rstrip() for line in reply(step))]) for step in steps]
    return "\n\n".join(blocks) + "\n"
