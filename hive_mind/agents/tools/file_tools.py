"""Tools over the folder of a run: `load_data`, `save_data` and `edit_data`. They also write the agent's memory, `adapt.md`."""

import asyncio
from collections.abc import Sequence

from hive_mind.agents.runs.run_files import RunFiles
from hive_mind.errors import InvalidInput
from hive_mind.runs.files import ADAPT, ADAPT_CHARACTERS_MAX, number_of, part
from hive_mind.tools.base import Tool
from hive_mind.tools.functions import tool

_LINES = 500


def file_tools(files: RunFiles) -> Sequence[Tool]:
    """The three, over one run's folder."""

    @tool
    def load_data(filename: str, offset: int = 0, limit: int = _LINES) -> str:
        """Read a file of this run by lines: `limit` of them from number `offset` (from 0) on."""
        text = files.adapt() if filename == ADAPT else files.read(filename)
        return part(text, filename, max(0, offset), max(1, limit))

    @tool
    def save_data(filename: str, text: str) -> str:
        """Write a file of this run; one that is there is replaced. adapt.md is your memory: rules, preferences, notes."""
        _check(filename, text)
        files.write(filename, text)
        return f"saved {len(text):,} characters to {filename}"

    @tool
    async def edit_data(filename: str, old: str, new: str) -> str:
        """Replace a text in a file of this run. It has to stand there exactly once."""

        def changed(text: str) -> str:
            if (times := text.count(old)) != 1 or not old:
                raise InvalidInput(f"that text stands {times} times in {filename}; give one that stands there once")
            after = text.replace(old, new)
            _check(filename, after)
            return after

        await asyncio.to_thread(files.change, filename, changed)
        return f"{filename} is changed"

    return [load_data, save_data, edit_data]


def _check(filename: str, text: str) -> None:
    if number_of(filename) or filename.startswith("conversation_"):
        raise InvalidInput(f"{filename} is reserved for the run: choose another name")
    if filename == ADAPT and len(text) > ADAPT_CHARACTERS_MAX:
        raise InvalidInput(
            f"{ADAPT} would have {len(text):,} characters: at most {ADAPT_CHARACTERS_MAX:,}, as it stands in every prompt"
        )
