"""Choosing agents by what they are: `-l group=north,phase!=ready`, as people know it from kubectl's labels."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hive_mind.errors import InvalidInput
from hive_mind.regex import regex

if TYPE_CHECKING:
    from hive_mind.control.status.fleet_status import AgentView

FIELDS = ("group", "domain", "phase", "process")
_PART = regex(r"\s*(?P<field>\w+)\s*(?P<sign>!=|==|=)\s*(?P<value>[^,]*?)\s*")


def selected(agents: Iterable["AgentView"], selector: str) -> "list[AgentView]":
    """Those of which every part of the selector holds. Raises `InvalidInput`."""
    parts = [_part(part) for part in selector.split(",")] if selector.strip() else []
    return [one for one in agents if all((getattr(one, field) == value) is is_equal for field, is_equal, value in parts)]


def _part(text: str) -> tuple[str, bool, str]:
    match = _PART.fullmatch(text)
    if match is None or match["field"] not in FIELDS:
        raise InvalidInput(f"{text.strip()!r} selects nothing: write FIELD=VALUE or FIELD!=VALUE, with {', '.join(FIELDS)}")
    return match["field"], match["sign"] != "!=", match["value"]
