"""The tuners there are: a language model, a person at the keyboard, and a seeded search that needs neither.

The model reads scores and what misled, and writes the next configuration file. Its reply is checked like a file of a person. One
that can't be used goes back to it once, with everything that is wrong. The prompt is in `prompts/tune.md`; questions and
documents are data and stand in a fence. A person sees what was measured, proposes a change with a reason, and sees what is wrong
with it. How to ask and where to show is handed in, so that a test needs no terminal.

The search goes by successive halving (Jamieson and Talwalkar 2016), in rounds. A round draws changes of the best configuration,
measures them with a third of the training questions, the better half of them with two thirds, and the best of those with all; the
next round goes on from whatever is best then. At the end each change that is not needed is taken back. The same seed does the
same. Changes it may make are declared here and nowhere else, each with its reason; impossible ones are not listed: the validation
rejects them.
"""

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from pydantic import Field

from hive_mind.cognition import fenced
from hive_mind.cognition.budget import Budget, reply_of
from hive_mind.errors import ModelOutputError
from hive_mind.forms import Form
from hive_mind.forms.reading import read
from hive_mind.llm.base import LanguageModel, Prompt
from hive_mind.regex import regex
from hive_mind.retrieval import Collection, ConfigurationSection, RetrievalConfig
from hive_mind.retrieval.contradictions import effective
from hive_mind.retrieval.tuning import GAIN_MIN, Proposal, Situation, Step, situation_text
from hive_mind.retrieval.workspace import Changes, SettingPath, changed, differences, is_same, values_written, without
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
        instructions = files("hive_mind.retrieval").joinpath("prompts/tune.md").read_text("utf-8").strip()
        prompt = fenced(instructions, situation_text(situation), _REPLY_TOKENS_MAX)
        reply, problems = _parsed(await self._reply_to(prompt), situation)
        if problems:
            listed = "\n".join(f"- {problem}" for problem in problems)
            again = f"{prompt.instructions}\n\nYour last reply could not be used:\n{listed}\nReply again, as described."
            reply, problems = _parsed(await self._reply_to(replace(prompt, instructions=again)), situation)
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
    reading = read(body, _FORM)
    if (reply := reading.value) is None:
        problems = reading.problems[:_PROBLEMS_MAX]
        return None, tuple(f"{problem.path} (line {problem.line}): {problem.message}" for problem in problems)
    if reply.done:
        return reply, ()
    if reply.config is None:
        return None, ('config: is missing; write the whole configuration, or "done": true',)
    config = effective(reply.config)
    errors = situation.errors(config)[:_PROBLEMS_MAX]
    return reply.model_copy(update={"config": config}), tuple(f"config: {error}" for error in errors)


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


def assignments(line: str) -> dict[SettingPath, Any]:
    """Values by their paths from "a.b = 1; c = [2]". A value is JSON, or a bare word. Raises `ValueError`."""
    changes: dict[SettingPath, Any] = {}
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


# A field with more values than this is a name or a date: leaving one of them out is no rule.
_VALUES_MAX = 12

Facets = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Change:
    """Some values that belong together. Two changes about the same `subject` contradict each other."""

    subject: str
    changes: Changes
    reason: str


def space(config: RetrievalConfig, collection: Collection, facets: Facets) -> tuple[Change, ...]:
    changes = [*_filters(config, collection, facets), *_cuts(), *_methods(), *_detections(), *_others()]
    if any(field.type == "date" for field in collection.known_fields.values()):
        changes += [_one("boosts.recency", value, f"lift what is recent by {value:.0%}") for value in (0.1, 0.3)]
    return tuple(changes)


def _filters(config: RetrievalConfig, collection: Collection, facets: Facets) -> Iterator[Change]:
    """Leave out one more value of a field, or let all of its values through again."""
    for field in collection.filterable:
        values = list(facets.get(field, {}))
        allowed = config.filters.get(field, values)
        if 1 < len(allowed) <= _VALUES_MAX:
            for left_out in allowed:
                kept = [value for value in allowed if value != left_out]
                yield Change(f"filters.{field}", {("filters", field): kept}, f"leave out {field} {left_out}")
        if field in config.filters:
            yield Change(f"filters.{field}", {("filters", field): None}, f"do not filter by {field}")


def _cuts() -> Iterator[Change]:
    for top_k in (3, 5, 8, 10):
        yield _one("retrieval.top_k", top_k, f"show {top_k} results at most")
    for factor in (2.0, 3.0, 5.0):
        for least in (1, 3):
            cut: Changes = {
                ("dynamic_k", "enabled"): True,
                ("dynamic_k", "gap_threshold_factor"): factor,
                ("dynamic_k", "min_results"): least,
            }
            yield Change("dynamic_k", cut, f"stop at a cliff of {factor:g} times the mean gap, after {least} or more")
    yield Change("dynamic_k", {("dynamic_k",): None}, "do not stop at cliffs")


def _methods() -> Iterator[Change]:
    method = ("retrieval", "method")
    weights: Changes = {("retrieval", name): None for name in ("fusion", "semantic_weight", "rrf_k")}
    for name in ("keyword", "vector"):
        yield Change("method", {**weights, method: name}, f"search by {'words' if name == 'keyword' else 'meaning'} alone")
    for share in (0.3, 0.5, 0.7, 0.8):
        linear = {**weights, method: "hybrid", ("retrieval", "fusion"): "linear", ("retrieval", "semantic_weight"): share}
        yield Change("method", linear, f"weigh meaning {share:.0%}, words {1 - share:.0%}")
    for rrf_k in (10, 60):
        rrf = {**weights, method: "hybrid", ("retrieval", "fusion"): "rrf", ("retrieval", "rrf_k"): rrf_k}
        yield Change("method", rrf, f"merge words and meaning by ranks (rrf_k {rrf_k})")


def _detections() -> Iterator[Change]:
    for signal in ("rank", "margin", "coverage"):
        for threshold in (0.5, 0.7, 0.9):
            for action in ("demote", "drop"):
                detection = {"enabled": True, "signal": signal, "disagreement_threshold": threshold, "action": action}
                description = f"{action} what looks like a distraction ({signal} above {threshold:g})"
                yield Change("distraction_detection", {("distraction_detection",): detection}, description)
    yield Change("distraction_detection", {("distraction_detection",): None}, "do not judge distractions")


def _others() -> Iterator[Change]:
    yield _one("deduplicate", "document", "show the best chunk of each document alone")
    yield _one("deduplicate", "content", "show the same text once")
    for count in (0, 1, 2):
        yield _one("text.neighbours", count, f"index a chunk with {count} before it")
    for share in (0.5, 0.7, 0.9):
        diversity: Changes = {("diversity", "enabled"): True, ("diversity", "lambda"): share}
        yield Change("diversity", diversity, f"show fewer results that say the same (lambda {share:g})")
    for adaptive in ("none", "anchors", "both"):
        yield _one("retrieval.adaptive", adaptive, f"identifiers in a question change {_ADAPTIVE[adaptive]}")


_ADAPTIVE = {"none": "nothing", "anchors": "what comes first", "both": "the weights and what comes first"}


def _one(path: str, value: Any, reason: str) -> Change:
    return Change(path, {tuple(path.split(".")): value}, reason)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """`width`: how many are tried in a round; more finds more and takes longer. `rounds_max` bounds the whole search.

    `patience`: rounds without a gain until it gives up; one may have drawn badly. `changes_max`: how many changes one draw makes.
    """

    width: int = 24
    rounds_max: int = 5
    patience: int = 2
    changes_max: int = 2
    seed: int = 0


# How much of the training questions is asked at each halving, and which part of the candidates goes on.
_RUNGS = ((1 / 3, 1 / 2), (2 / 3, 1 / 4))
# Some draws make no sense, some were tried before; where this many in a row do, there is nothing left.
_DRAWS_MAX = 400

_Search = Generator[Proposal, Situation, None]


class SearchTuner:
    """Implements `Tuner`. For one tuning."""

    def __init__(self, settings: SearchSettings | None = None) -> None:
        self._settings = settings or SearchSettings()
        self._rng = random.Random(self._settings.seed)  # noqa: S311 - draws configurations, guards nothing
        self._tried: list[RetrievalConfig] = []
        self._search: _Search | None = None

    @property
    def name(self) -> str:
        return f"search (seed {self._settings.seed})"

    async def propose(self, situation: Situation) -> Proposal | None:
        """The next draw, or one that goes on to more questions."""
        try:
            if self._search is None:
                self._search = self._rounds(situation)
                return next(self._search)
            return self._search.send(situation)
        except StopIteration:
            return None

    def _rounds(self, situation: Situation) -> _Search:
        idle = 0
        for _ in range(self._settings.rounds_max):
            base, candidates = situation.best, self._drawn(situation)
            if not candidates:
                break
            situation = yield from self._halved(candidates, situation)
            # A best that only says the same in fewer words is no reason to go on.
            idle = 0 if situation.best.nudcg >= base.nudcg + GAIN_MIN or situation.best.misleading < base.misleading else idle + 1
            if idle >= self._settings.patience:
                break
        yield from self._simplified(situation)

    def _simplified(self, situation: Situation) -> _Search:
        """Take back one change after the other. A value that came along with a good change and does nothing goes."""
        for path in differences(situation.best.config, situation.start.config):
            best = situation.best
            config = without(best.config, path, situation.start.config)
            if config is None or situation.objections(config := effective(config)):
                continue
            situation = yield Proposal(config, f"is {'.'.join(path)} needed? Without it (from {best.config.name})")

    def _halved(self, candidates: list[Proposal], situation: Situation) -> Generator[Proposal, Situation, Situation]:
        """One round. A bracket of one is no bracket: it is measured with all questions at once."""
        wide = len(candidates)
        for share, share_kept in _RUNGS if wide > 1 else ():
            scored: list[tuple[Step, Proposal]] = []
            for candidate in candidates:
                situation = yield replace(candidate, share=share)
                scored.append((situation.last, candidate))
            # Stable: of equals the simplest goes on, and of these the one that was drawn first.
            scored.sort(key=lambda pair: _rank(pair[0]))
            candidates = [candidate for _, candidate in scored[: max(1, round(wide * share_kept))]]
        for candidate in candidates[: max(1, wide // 8)]:
            situation = yield candidate
        return situation

    def _drawn(self, situation: Situation) -> list[Proposal]:
        """Different, sensible changes of the best configuration that were not tried yet."""
        base = situation.best.config
        changes = space(base, situation.collection, situation.facets)
        candidates: list[Proposal] = []
        for _ in range(_DRAWS_MAX):
            if len(candidates) == self._settings.width:
                break
            candidate = self._candidate(base, changes)
            if candidate is None or any(is_same(candidate.config, tried) for tried in self._tried):
                continue
            if not situation.objections(candidate.config):
                self._tried.append(candidate.config)
                candidates.append(candidate)
        return candidates

    def _candidate(self, base: RetrievalConfig, changes: tuple[Change, ...]) -> Proposal | None:
        # Subjects first: else a subject with many values would be most of what is drawn.
        subjects = sorted({change.subject for change in changes})
        count = min(self._rng.randint(1, self._settings.changes_max), len(subjects))
        chosen = [
            self._rng.choice([change for change in changes if change.subject == subject])
            for subject in self._rng.sample(subjects, count)
        ]
        # Two changes of one subject contradict each other.
        if len({change.subject for change in chosen}) < len(chosen):
            return None
        merged = {path: value for change in chosen for path, value in change.changes.items()}
        config, _ = changed(base, merged)
        if config is None or is_same(config := effective(config), effective(base)):
            return None
        return Proposal(config, f"{'; '.join(change.reason for change in chosen)} (from {base.name})")


def _rank(step: Step) -> tuple[float, int, int, int]:
    return (-round(step.nudcg, 9), step.misleading, step.measured.distractors, values_written(step.config))
