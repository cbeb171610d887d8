"""Tuners that are asked: a language model, and a person at the keyboard.

The model reads scores and what misled, and writes the next configuration file. Its reply is checked like a file of a person. One
that can't be used goes back to it once, with everything that is wrong. The prompt is in `prompts/tune.md`; questions and
documents are data and stand in a fence.

A person sees what was measured, proposes a change with a reason, and sees what is wrong with it. How to ask and where to show is
handed in, so that a test needs no terminal.
"""

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any

from pydantic import Field

from hive_mind.cognition.budget import Budget, reply_of
from hive_mind.cognition.prompts import fenced
from hive_mind.errors import ModelOutputError
from hive_mind.forms.form import Form
from hive_mind.forms.reading import read
from hive_mind.llm.base import LanguageModel, Prompt
from hive_mind.regex import regex
from hive_mind.retrieval.contradictions import effective
from hive_mind.retrieval.files.changing import Path, changed
from hive_mind.retrieval.files.configuration import ConfigurationSection, RetrievalConfig
from hive_mind.retrieval.tuning.tuner import Proposal, Situation, situation_text
from hive_mind.retry import RetrySettings, Sleep

# More would not tell a model more; it bounds what a reply of nonsense costs to ask about.
_PROBLEMS_MAX = 12
# Too few cut the JSON of a reply short.
_REPLY_TOKENS_MAX = 2_048


class TunerReply(ConfigurationSection):
    """The reply of a model."""

    done: bool = Field(False, description="Whether nothing is left to gain.")
    reason: str = Field("", max_length=2000, description="Why.")
    config: RetrievalConfig | None = Field(None, description="The next configuration.")


_FORM = Form("reply", TunerReply, "reply with one JSON object", "the instructions", "json", bytes_max=100_000, values_max=2_000)


class LlmTuner:
    """Implements `Tuner`. Raises `BudgetExceeded` before a call that could cost more than is left."""

    def __init__(
        self,
        model: LanguageModel,
        budget: Budget,
        retry: RetrySettings | None = None,
        *,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.budget = budget
        self._retry = retry or RetrySettings()
        self._model = model
        self._rng = rng or random.Random()  # noqa: S311 - spreads retries in time, guards nothing
        self._sleep = sleep

    @property
    def name(self) -> str:
        return self._model.name

    async def propose(self, situation: Situation) -> Proposal | None:
        """The model's proposal to measure; None when it says that nothing is left to gain."""
        prompt = fenced(_instructions(), situation_text(situation), _REPLY_TOKENS_MAX)
        reply, problems = _parsed(await self._reply_to(prompt), situation)
        if problems:
            reply, problems = _parsed(await self._reply_to(_corrected(prompt, problems)), situation)
        if problems or reply is None:
            raise ModelOutputError(
                f"{self._model.name} replied twice with something that can't be used: {'; '.join(problems)}; "
                "what was found before is kept; try again or another model"
            )
        if reply.done or reply.config is None:
            return None
        return Proposal(reply.config, reply.reason or "no reason given")

    async def _reply_to(self, prompt: Prompt) -> str:
        return await reply_of(self._model, prompt, self.budget, self._retry, rng=self._rng, sleep=self._sleep)


def _parsed(text: str, situation: Situation) -> tuple[TunerReply | None, tuple[str, ...]]:
    """A reply, or everything that keeps it from being used."""
    # Models like to put JSON into a code fence or a sentence.
    body = text[text.find("{") : text.rfind("}") + 1]
    if not body:
        return None, ("it contains no JSON object",)
    if len(body.encode("utf-8", "replace")) > _FORM.bytes_max:
        return None, (f"it is longer than {_FORM.bytes_max:,} bytes",)
    found_read = read(body, _FORM)
    if found_read.value is None:
        return None, tuple(
            f"{problem.path} (line {problem.line}): {problem.message}" for problem in found_read.problems[:_PROBLEMS_MAX]
        )
    if found_read.value.done:
        return found_read.value, ()
    if found_read.value.config is None:
        return None, ('config: is missing; write the whole configuration, or "done": true',)
    config = effective(found_read.value.config)
    errors = situation.errors(config)
    return found_read.value.model_copy(update={"config": config}), tuple(f"config: {error}" for error in errors[:_PROBLEMS_MAX])


def _corrected(prompt: Prompt, problems: tuple[str, ...]) -> Prompt:
    listed = "\n".join(f"- {problem}" for problem in problems)
    return replace(
        prompt, instructions=f"{prompt.instructions}\n\nYour last reply could not be used:\n{listed}\nReply again, as described."
    )


def _instructions() -> str:
    return files("hive_mind.retrieval").joinpath("prompts/tune.md").read_text("utf-8").strip()


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
    changes: dict[Path, Any] = {}
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
        changes[tuple(match[1].split("."))] = value
    if not changes:
        raise ValueError("it contains no change")
    return changes


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
