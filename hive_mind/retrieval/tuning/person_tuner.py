"""A tuner at the keyboard: a person sees what was measured, proposes a change with a reason, and sees what is wrong with it.

How to ask and where to show is handed in, so that a test needs no terminal.
"""

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from hive_mind.regex import regex
from hive_mind.retrieval.files.changing import Path, changed
from hive_mind.retrieval.files.configuration import RetrievalConfig
from hive_mind.retrieval.tuning.tuner import Proposal, Situation, situation_text

Ask = Callable[[str], Awaitable[str]]
"""Asks a person one thing and gives the answer; an empty one, or `EOFError`, ends the tuning."""
Show = Callable[[str], None]

HELP = (
    'What to change, such as: filters.category = ["api-docs"]; retrieval.top_k = 5\n'
    "null takes a value out again. An empty line ends."
)
_CHANGE, _REASON = "change: ", "why: "
_ASSIGNMENT = regex(r"\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*=\s*")
_BARE = regex(r"[^;]*")
_DECODER = json.JSONDecoder()


class PersonTuner:
    """Implements `Tuner`."""

    name = "a person"

    def __init__(self, ask: Ask, show: Show) -> None:
        self._ask, self._show = ask, show

    async def propose(self, situation: Situation) -> Proposal | None:
        """The person's proposal to measure. Mistakes are shown and asked about until they are corrected."""
        self._show(situation_text(situation))
        self._show(HELP)
        try:
            return await self._asked(situation)
        except EOFError:
            return None

    async def _asked(self, situation: Situation) -> Proposal | None:
        while line := (await self._ask(_CHANGE)).strip():
            config, problems = _changed(situation, line)
            if config is not None and not problems:
                for warning in situation.findings(config):
                    self._show(f"note: {warning.path} {warning.message}")
                return Proposal(config, (await self._ask(_REASON)).strip() or line)
            for problem in problems:
                self._show(f"not possible: {problem}")
        return None


def _changed(situation: Situation, line: str) -> tuple[RetrievalConfig | None, tuple[str, ...]]:
    try:
        changes = assignments(line)
    except ValueError as problem:
        return None, (str(problem),)
    config, problems = changed(situation.best.config, changes)
    if config is None:
        return None, tuple(f"{problem.path}: {problem.message}" for problem in problems)
    return config, situation.errors(config)


def assignments(line: str) -> dict[Path, Any]:
    """Values by their paths from "a.b = 1; c = [2]". A value is JSON, or a bare word. Raises `ValueError`."""
    found: dict[Path, Any] = {}
    at = 0
    while line[at:].strip(" ;"):
        match = _ASSIGNMENT.match(line, at)
        if not match:
            raise ValueError(f"{line[at:].strip()[:60]!r} is not a change; write a field, =, and its value")
        value, at = _value(line, match.end())
        rest = line[at:].lstrip()
        if rest and not rest.startswith(";"):
            raise ValueError(f"{rest[:60]!r} is unexpected; put ; between two changes")
        at = len(line) - len(rest) + bool(rest)
        found[tuple(match[1].split("."))] = value
    if not found:
        raise ValueError("it contains no change")
    return found


def _value(line: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(line, at)
    except json.JSONDecodeError:
        bare = _BARE.match(line, at)
        word = bare[0].strip() if bare else ""
        if not re.fullmatch(r"[\w./ -]+", word):
            raise ValueError(
                f'{line[at:].strip()[:60]!r} is not a value; write a number, true, false, a word, or a list ["…"]'
            ) from None
        return word, at + len(bare[0] if bare else "")
