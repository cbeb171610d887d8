"""`hive-mind retrieval tune`: propose, measure, learn from it, again: by search, by a language model, or by a person."""

import asyncio
import os
import random
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from io import UnsupportedOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from hive_mind.cli import options
from hive_mind.cli.agent_config import set_by_signals
from hive_mind.cli.options import Format, Group, settings_for
from hive_mind.cli.output import printable, say, show, show_indented, show_json
from hive_mind.cli.retrieval import workspaces
from hive_mind.cli.retrieval.compare import plain_comparison, plain_grounds, show_comparison
from hive_mind.cli.running import CommandError, exit_code
from hive_mind.errors import InvalidInput

_BLOCK_BYTES = 65_536

if TYPE_CHECKING:
    from hive_mind.retrieval.tuning import Step, Tuner
    from hive_mind.retrieval.tuning.loop import Tuned

_ROUNDS = {"search": 8, "llm": 8, "person": 24}


class Keyboard:
    """Standard input, line by line. Nothing else may read it, and a reader that has given up waiting must not ask again."""

    def __init__(self) -> None:
        self._lines = _lines(sys.stdin)

    async def ask(self, prompt: str) -> str:
        """Show a prompt on standard error and give the next line. Raises `EOFError` at the end."""
        sys.stderr.write(printable(prompt))
        sys.stderr.flush()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | None] = loop.create_future()

        def give(line: str | None) -> None:
            if not answer.done():
                answer.set_result(line)

        def wait() -> None:
            line = next(self._lines, None)
            # The caller may have given up, and its loop be closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(give, line)

        # Ends with the process, whether a line came or not.
        threading.Thread(target=wait, daemon=True).start()
        line = await answer
        if line is None:
            raise EOFError
        return line


def _lines(stdin: TextIO) -> Iterator[str]:
    """Straight from the system: a buffer of Python's is locked while it waits, and a process could not end."""
    rest = b""
    while block := _block(stdin):
        *lines, rest = (rest + block).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)
    if rest:
        yield rest.decode("utf-8", "replace")


def _block(stdin: TextIO) -> bytes:
    """The bytes that came; b"" at the end, and where somebody has closed it meanwhile."""
    # A closed file has no number.
    with suppress(ValueError):
        try:
            number = stdin.fileno()
        except UnsupportedOperation:
            # Not a file of the system, as in tests.
            return stdin.buffer.read(_BLOCK_BYTES)
        with suppress(OSError):
            return os.read(number, _BLOCK_BYTES)
    return b""


class How(StrEnum):
    """The proposer of the next try."""

    SEARCH = "search"
    LLM = "llm"
    PERSON = "person"


group = Group()


@group.called_as(
    "hive-mind retrieval tune v1-naive --name better",
    "hive-mind retrieval tune --rounds 3 --seed 7",
    "hive-mind retrieval tune --how llm --rounds 5",
    "hive-mind retrieval tune --how person",
)
async def tune(
    config: workspaces.Config = "",
    how: Annotated[
        How,
        typer.Option("--how", help="search: no model needed. llm: the model of HIVE_MIND_LLM. person: you, at the keyboard."),
    ] = How.SEARCH,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            min=1,
            max=1000,
            help="At most this many: rounds of a search, proposals of a model or a person.",
            show_default=", ".join(f"{count} for {way}" for way, count in _ROUNDS.items()),
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="search: the same seed gives the same result.")] = 0,
    name: Annotated[str, typer.Option("--name", help="Name of the best one.", show_default="CONFIG-tuned")] = "",
    workspace: workspaces.Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Look for a better configuration: propose, measure, learn from it, repeat.

    Only training questions are used; at the end the held-out ones say whether the best may be deployed, which deploy does. Each
    step is a file with its reason under configs/. Ctrl-C keeps the best so far.
    """
    from hive_mind.retrieval.tuning.loop import Order
    from hive_mind.retrieval.tuning.loop import tune as tuned

    folder = workspaces.opened(workspace)
    begin = workspaces.usable(folder, workspaces.config_of(folder, config))
    start = "" if folder.has_active and config in ("", workspaces.ACTIVE) else begin.name
    count = rounds or _ROUNDS[how]
    stop, received = asyncio.Event(), list[signal.Signals]()
    async with workspaces.quiet_bench(folder, begin.collection, embed, model) as bench, _tuner(how, count, seed) as tuner:
        with set_by_signals(stop, received):
            order = Order(start, name) if how is How.SEARCH else Order(start, name, count)
            outcome = await tuned(bench, tuner, order, _StepLines(output), stop)
    _show(outcome, workspace, output)
    if received:
        say("stopped; the best so far is kept")
        raise typer.Exit(exit_code(received[0]))
    if outcome.is_failed and outcome.verdict is None:
        raise CommandError(outcome.ended)


@asynccontextmanager
async def _tuner(way: How, rounds: int, seed: int) -> "AsyncIterator[Tuner]":
    """The tuner that proposes. Raises `InvalidInput` where no language model is set."""
    from hive_mind.cognition.budget import Budget
    from hive_mind.retrieval.tuning.tuners import LlmTuner, PersonTuner, SearchSettings, SearchTuner
    from hive_mind.runtime.wiring import open_model

    if way is How.PERSON:
        yield PersonTuner(Keyboard().ask, say)
        return
    if way is How.SEARCH:
        yield SearchTuner(SearchSettings(rounds_max=rounds, seed=seed))
        return
    settings = settings_for()
    if not settings.llm:
        raise InvalidInput("--how llm needs a language model: set HIVE_MIND_LLM, such as openai:gpt-5-mini, or use --how search")
    model, budget = await open_model(settings), Budget(settings.token_budget)
    try:
        yield LlmTuner(model, budget, settings.llm_retry, rng=random.Random())  # noqa: S311 - spreads retries in time
    finally:
        await model.close()
        spent = budget.spent
        say(f"{model.name}: {spent.calls} calls, {spent.tokens} of {budget.max_tokens} tokens spent", style="dim")


class _StepLines:
    """A line for each step as it is measured; tries with a part of the questions are counted."""

    def __init__(self, output: Format) -> None:
        self._is_shown = output is Format.TEXT
        self._tries = 0

    def __call__(self, step: "Step", is_best: bool) -> None:
        if not step.is_whole:
            self._tries += 1
            return
        tries = f"after {self._tries} tries with fewer questions" if self._tries else ""
        self._tries = 0
        if not self._is_shown:
            return
        mark = "*" if is_best else " "
        measured = step.measured
        show(
            f"{mark} {step.number:>3}  nUDCG {step.nudcg:.3f}  distractors {measured.distractors:>3}, "
            f"in the first 5 {step.misleading:>3}  {step.config.name}",
            style="green" if is_best else "",
        )
        show_indented("; ".join(part for part in (step.reason, tries) if part), style="dim")
        # Into a pipe or a file, lines would come when all is over.
        sys.stdout.flush()


def _show(outcome: "Tuned", workspace: Path | None, output: Format) -> None:
    if output is Format.JSON:
        show_json(_plain(outcome))
        return
    for note in outcome.notes:
        say(f"note: {note}", style="yellow")
    show(f"ended: {outcome.ended}; {len(outcome.steps) - 1} configurations were tried")
    verdict = outcome.verdict
    if verdict is None:
        show(f"nothing better than {outcome.start.config.name} was found")
        return
    if verdict.comparison:
        show()
        show_comparison(verdict.comparison, 0)
        show()
    if verdict.allowed:
        command = f"hive-mind retrieval deploy {outcome.name}{workspaces.option(workspace)}"
        show(f"{outcome.name} may be deployed: {command}", style="green")
        return
    show(f"{outcome.name} is the best of what was tried, and this speaks against deploying it:", style="yellow")
    for ground in verdict.grounds:
        show(f"  {ground.message}", style="yellow")


def _plain(outcome: "Tuned") -> dict[str, Any]:
    verdict = outcome.verdict
    return {
        "name": outcome.name or None,
        "best": outcome.best.config.name,
        "ended": outcome.ended,
        "failed": outcome.is_failed,
        "tries": len(outcome.steps) - 1,
        "steps": [
            {
                "number": step.number,
                "config": step.config.name,
                "reason": step.reason,
                "nudcg": step.nudcg,
                "distractors": step.measured.distractors,
                "distractors_in_5": step.misleading,
            }
            for step in outcome.steps
            if step.is_whole
        ],
        "notes": list(outcome.notes),
        "allowed": verdict.allowed if verdict else None,
        "grounds": plain_grounds(verdict) if verdict else [],
        "comparison": plain_comparison(verdict.comparison) if verdict and verdict.comparison else None,
    }
