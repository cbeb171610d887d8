"""A tuner that asks a language model: it reads scores and what misled, and writes the next configuration file.

Its reply is checked like a file of a person. One that can't be used goes back to it once, with everything that is wrong. The
prompt is in `prompts/tune.md`; questions and documents are data and stand in a fence.
"""

import asyncio
import random
from dataclasses import replace
from importlib.resources import files

from pydantic import Field

from hive_mind.cognition.budget import Budget, reply_of
from hive_mind.cognition.prompts import fenced
from hive_mind.errors import ModelOutputError
from hive_mind.forms.form import Form
from hive_mind.forms.reading import read
from hive_mind.llm.base import LanguageModel, Prompt
from hive_mind.retrieval.checking.configurations import effective
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
        asked = fenced(_instructions(), situation_text(situation), _REPLY_TOKENS_MAX)
        reply, problems = _parsed(await self._reply_to(asked), situation)
        if problems:
            reply, problems = _parsed(await self._reply_to(_corrected(asked, problems)), situation)
        if problems or reply is None:
            raise ModelOutputError(
                f"{self._model.name} replied twice with something that can't be used: {'; '.join(problems)}; "
                "what was found before is kept; try again or another model"
            )
        if reply.done or reply.config is None:
            return None
        return Proposal(reply.config, reply.reason or "no reason given")

    async def _reply_to(self, asked: Prompt) -> str:
        return await reply_of(self._model, asked, self.budget, self._retry, rng=self._rng, sleep=self._sleep)


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
        return None, tuple(f"{one.path} (line {one.line}): {one.message}" for one in found_read.problems[:_PROBLEMS_MAX])
    if found_read.value.done:
        return found_read.value, ()
    if found_read.value.config is None:
        return None, ('config: is missing; write the whole configuration, or "done": true',)
    config = effective(found_read.value.config)
    errors = situation.errors(config)
    return found_read.value.model_copy(update={"config": config}), tuple(f"config: {error}" for error in errors[:_PROBLEMS_MAX])


def _corrected(asked: Prompt, problems: tuple[str, ...]) -> Prompt:
    listed = "\n".join(f"- {problem}" for problem in problems)
    return replace(
        asked, instructions=f"{asked.instructions}\n\nYour last reply could not be used:\n{listed}\nReply again, as described."
    )


def _instructions() -> str:
    return files("hive_mind.retrieval").joinpath("prompts/tune.md").read_text("utf-8").strip()
