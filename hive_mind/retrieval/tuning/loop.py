"""Tuning: somebody proposes a configuration, it is measured, and what was seen decides what is proposed next (document 000).

Only training questions are used on the way. At the end the best is compared once, with questions that nobody saw, with what is
in use, or with the start where nothing is; that verdict is the gate's. A small set is cross-validated instead. Nothing is
deployed here. A stop at any time keeps the best, on disk too.

The files of a tuning: one configuration file per step, with its reason and its figures as a comment, and one for the best.

Each is written before it is measured and again after, whole or not at all, so that a stop at any moment leaves nothing half done.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TypeVar

from hive_mind.errors import BackendError, InvalidInput, ModelOutputError
from hive_mind.regex import regex
from hive_mind.retrieval import NAME, RetrievalConfig, write_whole
from hive_mind.retrieval.measuring.evaluation import Bench, Index, TrainTestSplit, measured, train_test_split
from hive_mind.retrieval.measuring.verdict import ConfigVerdict, decide
from hive_mind.retrieval.tuning import TOP, Proposal, Situation, Step, Tuner, cross_validated, takes_over
from hive_mind.retrieval.validation import check_golden
from hive_mind.retrieval.workspace import Workspace, config_text, is_same

# Room for eight rounds of a search and for taking back what is not needed; nobody reads the files of more.
STEPS_MAX = 40
# Nearly everything answers one or two questions as well as they can be: a try with so few would choose by chance.
TRIED_MIN = 5

Report = Callable[[Step, bool], None]
"""Gets every step when it was measured, and whether it is the best so far."""

T = TypeVar("T")

_REASON_MAX = 500
_NUMBERED = regex(r"-\d{3,}$")


@dataclass(frozen=True, slots=True)
class Order:
    """The job of a tuning. Without a `start` it begins with the configuration in use; without a `name` the result gets one from
    there.

    `steps_max` bounds the files; tries with a part of the questions are bounded by the tuner.
    """

    start: str = ""
    name: str = ""
    steps_max: int = STEPS_MAX


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of a tuning. `name` is the configuration to deploy, "" where nothing is better than the start.

    `ended` says why it ended, in words. The verdict is about the held-out questions, None where there is nothing to deploy.
    """

    name: str
    best: Step
    steps: tuple[Step, ...]
    ended: str
    verdict: ConfigVerdict | None
    notes: tuple[str, ...] = ()
    is_failed: bool = False
    """Whether trouble with a model ended it."""

    @property
    def start(self) -> Step:
        return self.steps[0]


async def tune(
    bench: Bench, tuner: Tuner, order: Order | None = None, report: Report | None = None, stop: asyncio.Event | None = None
) -> Tuned:
    """Tune until the tuner has nothing left to try, the steps are used up, or somebody sets `stop`.

    A failing model ends it too; `ended` has the reason. Raises `InvalidInput` for a name that is taken or a golden set that can't
    be split, `WorkspaceError` for files that can't be used.
    """
    order, workspace = order or Order(), bench.workspace
    start = workspace.config(order.start) if order.start else workspace.active()
    if start is None:
        raise InvalidInput("nothing is in use yet: name the configuration to begin with")
    # One that nobody has yet.
    base, taken = f"{start.name[:50]}-tuned", workspace.configs()
    names = chain([base], (f"{base}{number}" for number in count(2)))
    name = order.name or next(name for name in names if name not in taken)
    check_name(workspace, name)
    collection = workspace.collection(start.collection)
    parts = train_test_split(check_golden(workspace, collection).accepted())
    async with bench.open(start.collection) as index:
        first = Step(0, start, "the starting point", await measured(index, start, parts.training, "train", bench.progress))
        situation = Situation(collection, index.facets(), index.counts()[0], bench.has_embeddings, (first,), first)
        tuning = _Tuning(bench, tuner, index, parts, situation, name, report or (lambda *_: None), stop or asyncio.Event())
        ended = await tuning.run(order.steps_max)
        verdict = await tuning.verdict()
    last, notes = tuning.situation, (parts.note,) if parts.note else ()
    return Tuned(name if verdict else "", last.best, last.steps, ended, verdict, notes, tuning.is_failed)


@dataclass(slots=True)
class _Tuning:
    """One run. The knowledge so far is in `situation`, which is replaced with every step."""

    bench: Bench
    tuner: Tuner
    index: Index
    parts: TrainTestSplit
    situation: Situation
    name: str
    report: Report
    stop: asyncio.Event
    is_failed: bool = False

    async def run(self, steps_max: int) -> str:
        self.report(self.situation.start, True)
        while not self.stop.is_set():
            if self._whole_steps() >= steps_max:
                return f"{steps_max} steps were allowed"
            try:
                proposal = await _unless(self.stop, self.tuner.propose(self.situation))
            except (BackendError, ModelOutputError) as error:
                self.is_failed = True
                return str(error)
            if proposal is None:
                break
            await self._try(proposal)
        return "stopped" if self.stop.is_set() else f"{self.tuner.name} has nothing left to try"

    async def verdict(self) -> ConfigVerdict | None:
        """The verdict of the held-out questions on the best, against the configuration in use."""
        best, start = self.situation.best, self.situation.start
        if best.number == 0:
            return None
        config = best.config.model_copy(update={"name": self.name})
        crossed = self.parts.is_crossed
        questions, opened = (self.parts.deciding, self.parts.split), (self.index, best.config.collection)
        if crossed:
            candidate = cross_validated(self.situation.steps, config)
        else:
            candidate = await self.bench.measured(config, *questions, *opened)
        former = self.bench.workspace.active() or start.config
        if crossed and is_same(former, start.config):
            return decide(replace(start.measured, config=former, split=self.parts.split), candidate)
        return decide(await self.bench.measured(former, *questions, *opened), candidate)

    async def _try(self, proposal: Proposal) -> None:
        """Measure a proposal; with all training questions it becomes a file."""
        if wrong := self.situation.errors(proposal.config):
            raise InvalidInput(f"{self.tuner.name} proposed a configuration that can't be measured: {'; '.join(wrong)}")
        if proposal.share < 1:
            await self._take(proposal, None)
            return
        workspace, number = self.bench.workspace, self._whole_steps() + 1
        name = step_name(workspace, self.name, number)
        named_proposal = replace(proposal, config=proposal.config.model_copy(update={"name": name}))
        write_step(workspace, named_proposal.config, self._origin(number), f"Why: {named_proposal.reason}")
        await self._take(named_proposal, number)

    async def _take(self, proposal: Proposal, number: int | None) -> None:
        """Measure and remember. A try that is stopped half-way is as if it had never been proposed, but for its file."""
        count = max(TRIED_MIN, round(proposal.share * len(self.parts.training)))
        questions = self.parts.training[:count]
        work = measured(self.index, proposal.config, questions, "train", self.bench.progress)
        if evaluation := await _unless(self.stop, work):
            # Its file and the best go to disk before it is reported.
            step = Step(number, proposal.config, one_line(proposal.reason), evaluation)
            situation, origin = self.situation, self._origin(step.number or 0)
            workspace, remarks = self.bench.workspace, (f"Why: {step.reason}", _figures(step, situation.start))
            if step.is_whole:
                write_step(workspace, step.config, origin, *remarks)
            is_best = takes_over(step, situation.best, situation.start)
            self.situation = replace(situation, steps=(*situation.steps, step), best=step if is_best else situation.best)
            if is_best:
                best = step.config.model_copy(update={"name": self.name})
                write_step(workspace, best, f"{origin} The best so far: {step.config.name}.", *remarks)
            self.report(step, is_best)

    def _whole_steps(self) -> int:
        return sum(step.is_whole for step in self.situation.steps) - 1

    def _origin(self, number: int) -> str:
        return f"Step {number} of tuning {self.situation.start.config.name} by {self.tuner.name}."


async def _unless(stop: asyncio.Event, work: Awaitable[T]) -> T | None:
    """The result of the work, or None as soon as somebody stops: nobody waits for a model or a person any longer."""
    doing, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((doing, stopped), return_when=asyncio.FIRST_COMPLETED)
        return doing.result() if doing.done() else None
    finally:
        doing.cancel()
        stopped.cancel()
        await asyncio.gather(doing, stopped, return_exceptions=True)


def check_name(workspace: Workspace, name: str) -> None:
    """Raises `InvalidInput` for a name that can't be a file's, or that has a file: nothing is overwritten."""
    if not re.match(NAME, f"{name}-000") or _NUMBERED.search(name):
        raise InvalidInput(f"{name[:70]!r} can't be used: take up to 60 letters, digits, '.', '_' and '-', not ending like -001")
    if workspace.config_file(name).exists():
        raise InvalidInput(f"there is a configuration {name} already, and nothing is overwritten: choose another name")


def step_name(workspace: Workspace, name: str, number: int) -> str:
    """The name of a step, past those that an interrupted tuning left."""
    steps = (re.fullmatch(rf"{re.escape(name)}-(\d{{3,}})", config_name) for config_name in workspace.configs())
    return f"{name}-{max([number, *(int(step[1]) + 1 for step in steps if step)]):03d}"


def one_line(reason: str) -> str:
    """A reason as it can stand in a comment."""
    line = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    return line if len(line) <= _REASON_MAX else line[: _REASON_MAX - 1] + "…"


def _figures(step: Step, start: Step) -> str:
    return (
        f"Measured with {len(step.measured.rows)} training questions: nUDCG {step.nudcg:.3f} after {start.nudcg:.3f}, "
        f"distractors in the first {TOP} {step.misleading} after {start.misleading}."
    )


def write_step(workspace: Workspace, config: RetrievalConfig, *remarks: str) -> None:
    """The file of a step, or of the best under the name that was asked for."""
    head = "".join(f"// {one_line(remark)}\n" for remark in remarks)
    write_whole(workspace.config_file(config.name), f"{head}{config_text(config)}\n")
