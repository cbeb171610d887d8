"""What people say to runs: entries in the agent's ledger, each of which its run hears once, whatever was killed in between."""

import msgspec

from hive_mind.agents.runs.run_journal import wall_clock_ms
from hive_mind.errors import InvalidInput
from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry
from hive_mind.runs.effects import Word
from hive_mind.runs.plain import plain

WORDS = "word/"
_SAID = "said"
_TEXT_BYTES_MAX = 100_000
"""A step of a run has at most a megabyte, and JSON may spell a character with six."""


async def say_to(ledger: Ledger, run: str, text: str) -> None:
    """Say it; durable when this returns. Raises `InvalidInput` for a text that no run could hear, and what a ledger raises."""
    if len(text.encode("utf-8", "replace")) > _TEXT_BYTES_MAX:
        raise InvalidInput(f"a run hears at most {_TEXT_BYTES_MAX:,} bytes at a time; name a file")
    said = Entry(_SAID, msgspec.json.encode(plain(text)), wall_clock_ms())
    while not await ledger.append(WORDS + run, len(await ledger.read(WORDS + run)), [said]):
        pass


async def words_for(ledger: Ledger, run: str) -> list[Word]:
    """All that was ever said to it. Raises what a ledger raises."""
    entries = await ledger.read(WORDS + run)
    return [Word(msgspec.json.decode(entry.body, type=str), f"w{entry.seq}") for entry in entries]
