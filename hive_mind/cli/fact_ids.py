"""A fact by its id or by the beginning of it, as people copy it from a list."""

import re

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.fact import Fact

PREFIX_CHARACTERS_MIN = 6

_SHOWN = 5
_FULL_ID = 32
_PREFIX = re.compile(rf"[0-9a-f]{{{PREFIX_CHARACTERS_MIN},{_FULL_ID}}}")


class _Line(msgspec.Struct):
    type: str
    id: str = ""


async def fact_called(memory: CognitiveMemory, given: str) -> Fact:
    """The one fact whose id begins like this. Raises `InvalidInput` for none and for several."""
    prefix = given.strip().lower()
    if not _PREFIX.fullmatch(prefix):
        raise InvalidInput(f"{given!r} is no fact's id: give {PREFIX_CHARACTERS_MIN} or more of the digits `facts list` shows")
    ids = [prefix] if len(prefix) == _FULL_ID else await _ids_beginning(memory, prefix)
    if len(ids) > 1:
        raise InvalidInput(f"{given!r} begins several ids ({', '.join(ids[:_SHOWN])}): give more of it")
    fact = await memory.get_fact(ids[0]) if ids else None
    if fact is None:
        raise InvalidInput(f"there is no fact {given!r}: `hive-mind facts list` shows the ids")
    return fact


async def _ids_beginning(memory: CognitiveMemory, prefix: str) -> list[str]:
    # The export is the one list that has superseded and retracted facts too.
    lines = [msgspec.json.decode(line, type=_Line) async for line in memory.export()]
    return [line.id for line in lines if line.type == "fact" and line.id.startswith(prefix)]
