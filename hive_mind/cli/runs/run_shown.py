"""A run as people see it, also where a fleet's process carries it out: its steps as they come, its outcome, and talk about it."""

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import typer

from hive_mind.agents.runs.run_journal import document_of
from hive_mind.cli.asking.asked import FleetAgent
from hive_mind.cli.options import DEFAULT_AGENT, Format
from hive_mind.cli.output import printable, say, short_id, show, show_indented, show_json, show_result, show_table
from hive_mind.cli.running import FAILED, Stopped
from hive_mind.counted import counted
from hive_mind.runs import steps as s
from hive_mind.runs.prompt import one_line
from hive_mind.runs.reports import node_of, step_text
from hive_mind.runs.spec import WorkerSpec

if TYPE_CHECKING:
    from hive_mind.agents.goal_seeking import GoalSeekingAgent
    from hive_mind.agents.runs.executor import RunExecutor


class StepPrinter:
    """One line, on stderr, for each step that somebody who waits wants to know."""

    def __init__(self, *, is_silent: bool) -> None:
        self._is_silent = is_silent
        self._nodes: dict[str, str] = {}
        self._speaking = ""

    def show_step(self, step: s.Step) -> None:
        """A step, if it is news."""
        was_heard = bool(self._speaking)
        self.end_line()
        if was_heard and isinstance(step, s.Replied) and not step.calls:
            return
        if line := step_text(step, self._nodes):
            self.line(line)

    def line(self, text: str) -> None:
        self.end_line()
        if not self._is_silent:
            say(text, style="dim")

    def listen(self, node: str) -> Callable[[str], None] | None:
        """A printer of a model's words as they come; None where nobody watches."""
        return partial(self._word, node) if sys.stderr.isatty() and not self._is_silent else None

    def _word(self, node: str, text: str) -> None:
        if node != self._speaking:
            self.end_line()
            sys.stderr.write(f"{node}: ")
        self._speaking = node
        sys.stderr.write("\n".join(map(printable, text.split("\n"))))
        sys.stderr.flush()

    def end_line(self) -> None:
        """Let the next text begin a line."""
        if self._speaking:
            sys.stderr.write("\n")
        self._speaking = ""


class Heard:
    """Shows what models say, each word once."""

    def __init__(self, printer: StepPrinter) -> None:
        self._printer = printer
        self._shown: dict[str, tuple[int, int]] = {}
        """By node: the turn, and how much of it."""

    def show_new(self, saying: Iterable[Mapping[str, Any]]) -> None:
        """Show the new part of it."""
        for saying_of_node in saying:
            turn, characters_shown = self._shown.get(saying_of_node["node"], (saying_of_node["turn"], 0))
            if turn != saying_of_node["turn"]:
                self._printer.end_line()
                characters_shown = 0
            if (new := saying_of_node["text"][characters_shown:]) and (hear := self._printer.listen(saying_of_node["node"])):
                hear(new)
            self._shown[saying_of_node["node"]] = saying_of_node["turn"], len(saying_of_node["text"])


async def show_run(executor: "RunExecutor", agent: str, output: Format, options: str = "") -> None:
    """Where it is, or what it came to. `options`: those with which it is resumed."""
    document = await document_of(executor.run, executor.state, executor.parts.desk)
    if output is Format.JSON:
        show_json(document)
        return
    show_document(document, agent, options)
    files = executor.parts.files(executor.run, "")
    if names := files.data_files():
        say(f"{counted(len(names), 'file')} in {files.folder}", style="dim")


def show_document(document: Mapping[str, Any], agent: str, options: str = "", *, goes_on: bool = False) -> None:
    """The same in lines. `goes_on`: by itself, when somebody decides."""
    reason = f" — {document['reason']}" if document["reason"] else ""
    show(f"run {document['run']}: {document['status']}{reason}", style="bold")
    for key, value in document["outputs"].items():
        show(f"{key}:", style="bold")
        show_indented(printable(value if isinstance(value, str) else one_line(value, 2_000)))
    which = f" --agent {agent}" if agent != DEFAULT_AGENT else ""
    for item in document["waiting"]:
        which_one = f" ({item['asks']})" if "→" in item.get("asks", "") else ""
        show(f"waits for a person{which_one}: {item['title']}", style="yellow")
        remedy = f'answer {short_id(item["id"])} "…"' if item["kind"] == "question" else f"approve {short_id(item['id'])}"
        show(f"  hive-mind inbox show {short_id(item['id'])}{which}")
        show(f"  hive-mind inbox {remedy}{which}")
    for node_listening in document.get("listening", ()):
        show(f"{node_listening['node']}:", style="bold")
        show_indented(printable(node_listening["text"]))
        show(f'  hive-mind runs say {document["run"]} "…"{which}')
    if document["waiting"] and not goes_on:
        show(f"  hive-mind runs resume {document['run']}{which}{options}")
    if trouble := document.get("trouble"):
        show(f"it can't go on: {trouble}", style="red")


def show_table_of(documents: list[dict[str, Any]]) -> None:
    """With the agents, where there are several."""
    has_agents = len({document["agent"] for document in documents}) > 1
    rows = [
        (
            *([document["agent"]] if has_agents else []),
            document["run"],
            document["worker"],
            document["status"],
            ", ".join(document["at"]) or "-",
            ", ".join(_waits_for(document)) or "-",
            str(document["steps"]),
            document["changed"],
        )
        for document in documents
    ]
    titles = [*(["agent"] if has_agents else []), "run", "worker", "status", "at", "waits for", "steps", "changed"]
    show_table(titles, rows, right=[titles.index("steps")])


def _waits_for(document: Mapping[str, Any]) -> list[str]:
    askers = [f"a person ({short_id(item['id'])})" for item in document["waiting"]]
    return [*askers, *(f"a word ({node_listening['node']})" for node_listening in document.get("listening", ()))]


def reasons_of(steps: list[s.Step]) -> Iterator[str]:
    """Why it came so: judgements and decisions, in their order."""
    nodes: dict[str, str] = {}
    for step in steps:
        text = step_text(step, nodes)
        match step:
            case s.Judged():
                which = f" (judgement {short_id(step.judgment)})" if step.judgment else ""
                why = one_line(step.reasoning)
                yield f"{node_of(nodes, step)}: {step.action} by {step.cause or 'judge'}: {why}{which}"
            case s.Answered():
                yield f"{step.by} decided {step.action}" + (f": {step.because}" if step.because else "")
            case s.Parked() | s.Warned():
                yield text
            case s.Ended():
                yield f"ended: {step.outcome}: {step.reason}"


_LOOK_S = 0.2


async def run_in_fleet(
    agent: FleetAgent,
    worker: WorkerSpec | None,
    inputs: Mapping[str, Any],
    name: str,
    output: Format,
    *,
    stream: str,
    is_waiting: bool,
) -> None:
    """Begin one there, and look on. Raises `BackendError`, and `InvalidInput` for what the agent refuses."""
    form = worker.model_dump(mode="json", by_alias=True, exclude_defaults=True) if worker else {}
    await agent.call("run", worker=form, inputs=dict(inputs), run=name, stream=stream)
    await look_on(agent, name, output, is_waiting=is_waiting)


async def look_on(agent: FleetAgent, run: str, output: Format, *, is_waiting: bool) -> None:
    """Until it has ended or, unless we wait for that too, a person is asked."""
    steps_seen: tuple[str, ...] = ()
    printer = StepPrinter(is_silent=output is not Format.TEXT)
    saying_heard = Heard(printer)
    try:
        while True:
            document = await agent.call("run_shown", run=run)
            saying_heard.show_new(document.get("saying", ()))
            if (at := tuple(document["at"])) != steps_seen:
                printer.line(f"at {', '.join(at)}" if at else "at its end")
                steps_seen = at
            if document["status"] != "unfinished" and not (document["status"] == "parked" and is_waiting):
                break
            await asyncio.sleep(_LOOK_S)
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise Stopped(f"the run goes on without you; look at it with: hive-mind runs show {run} --agent {agent.name}") from None
    printer.end_line()
    show_in_fleet(agent, document, output)
    if document["status"] != "accepted":
        raise typer.Exit(FAILED)


def show_in_fleet(agent: FleetAgent, document: Mapping[str, Any], output: Format) -> None:
    value = {"fleet": agent.fleet, "agent": agent.name, **document}
    show_result(output, value, lambda: show_document(document, agent.name, goes_on=True))


Document = Mapping[str, Any]


class TalkingRun(Protocol):
    """A run, wherever it is driven."""

    @property
    def agent(self) -> str:
        """Its agent's name."""

    async def look(self) -> Document:
        """The run as it is once it waits for somebody, or has ended."""

    async def say(self, text: str) -> Document:
        """The same after this was said."""


@dataclass(frozen=True, slots=True)
class RunOfFleet:
    """It goes on in a process of its fleet."""

    running: FleetAgent
    run: str

    @property
    def agent(self) -> str:
        return self.running.name

    async def look(self, after: int = 0) -> Document:
        """`after`: once it has heard as many messages, if it waits for one."""
        while True:
            document: Document = await self.running.call("run_shown", run=self.run)
            is_behind = document["status"] == "parked" and document.get("listening") and document["heard"] < after
            if document["status"] != "unfinished" and not is_behind:
                return document
            await asyncio.sleep(_LOOK_S)

    async def say(self, text: str, key: str = "") -> Document:
        """`key`: of a text that may be said again."""
        told_reply = await self.running.call("run_told", run=self.run, text=text, key=key)
        return await self.look(told_reply["number"])


@dataclass(frozen=True, slots=True)
class RunHere:
    """This process drives it."""

    opened: "GoalSeekingAgent"
    run: str

    @property
    def agent(self) -> str:
        return self.opened.name

    async def look(self) -> Document:
        return await self._document(await self.opened.resume(self.run))

    async def say(self, text: str) -> Document:
        return await self._document(await self.opened.say(self.run, text))

    async def _document(self, state: Any) -> Document:
        from hive_mind.agents.runs.run_journal import document_of

        return await document_of(self.run, state, self.opened.desk)


async def talk(run: TalkingRun) -> None:
    """Until the run has ended or waits for a decision, or there is nothing more to say."""
    from hive_mind.agents.goal_seeking import lines_of

    lines = lines_of(sys.stdin)
    document = await run.look()
    while document.get("listening"):
        # The last words of the nodes that wait for an answer.
        for node_listening in document["listening"]:
            show_indented(printable(node_listening["text"]), lead=f"{node_listening['node']}:")
        line = await anext(lines, None)
        if line is None:
            say(f"go on with: hive-mind chat {run.agent} --run {document['run']}", style="dim")
            return
        document = await run.say(line)
    show_document(document, run.agent)
    if document["status"] not in ("accepted", "parked", "paused"):
        raise typer.Exit(FAILED)
