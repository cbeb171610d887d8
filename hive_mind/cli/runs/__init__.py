"""`hive-mind run` and `worker`: start a worker, follow it until it has ended or waits for a person; list and draw them."""

import asyncio
import secrets
import shlex
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import AnyEmbeddingAgent, fleet_agent, say_without_effect
from hive_mind.cli.options import DEFAULT_AGENT, Format, Group, refuse_ineffective
from hive_mind.cli.output import say, show, show_result, show_table
from hive_mind.cli.running import FAILED, Stopped
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.agents.notices import Deliver
    from hive_mind.agents.runs.executor import RunExecutor
    from hive_mind.agents.runs.performer import RunParts
    from hive_mind.cli.runs.run_shown import StepPrinter
    from hive_mind.runs.spec import WorkerSpec
    from hive_mind.tools import McpServer


Notify = Annotated[
    str,
    typer.Option(
        "--notify",
        metavar="URL|COMMAND",
        help="Send a notice of each item that waits for a person: to a webhook, or to a command's standard input.",
        show_default="none",
    ),
]


def refuse_notify(notify: str) -> None:
    """Raises `InvalidInput` where a fleet says who gets notices."""
    if notify:
        raise InvalidInput("a fleet runs here, and its manifest says who gets notices (spec.notify): leave out --notify")


def check_notify(notify: str) -> None:
    """Raises `InvalidInput` for a notice that could go nowhere, before anything is done."""
    if notify:
        _delivery(notify)


def _delivery(notify: str) -> "Deliver":
    from hive_mind.agents.notices import delivery
    from hive_mind.runtime.settings import environment_without_secrets, secret

    return delivery(notify, secret("HOOK_SECRET"), environment_without_secrets())


@asynccontextmanager
async def notifying(notify: str, parts: "RunParts") -> AsyncIterator[None]:
    """Send notices while a run is driven, and of what waits at its end; one that could not be sent is sent when it is resumed."""
    if not notify:
        yield
        return
    from hive_mind.agents.notices import Notices

    notices = Notices(parts.ledger, _delivery(notify), clock_ms=parts.clock_ms)
    following = asyncio.create_task(notices.follow(), name="notices")
    try:
        yield
    except Stopped:
        raise
    except typer.Exit:
        await notices.send_due()
        raise
    finally:
        following.cancel()
        await asyncio.wait([following])
        if not following.cancelled() and (error := following.exception()):
            say(f"notices stopped: {error}", style="yellow")


_VALUE_BYTES_MAX = 500_000

WorkerName = Annotated[
    str,
    typer.Argument(
        metavar="WORKER",
        help="A file of kind Worker, or the name of a built-in one.",
        show_default="that of an agent of a fleet",
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", "-i", metavar="KEY=VALUE", help="An input of the run; KEY=@FILE takes the text of a file."),
]
Name = Annotated[str, typer.Option("--name", help="Name of the run.", show_default="eight random digits")]
Mcp = Annotated[
    list[str] | None,
    typer.Option("--mcp", metavar="NAME=COMMAND", help="An MCP server to start; workers name its tools mcp:NAME/TOOL."),
]
Stream = Annotated[
    str,
    typer.Option(
        "--stream", metavar="NAME", help="Runs of one stream share the values of that scope.", show_default="this run alone"
    ),
]
RuleFiles = Annotated[
    list[Path] | None,
    typer.Option("--rules", metavar="FILE", help="Rules for all that the run gives (kind: Rules); they stay with the run."),
]
Functions = Annotated[
    list[str] | None,
    typer.Option("--function", metavar="NAME=FILE.py:NAME", help="A judge or check of your own, by the name that workers give."),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for people's decisions, instead of returning when the run needs one.")]


group = Group()


@group.called_as(
    "hive-mind run incident-review --input notes=incidents/",
    "hive-mind run workers/review.yaml --name june --input question=@question.txt --wait",
    "hive-mind run incident-review --input notes=incidents/ -o json",
)
async def run(
    worker: WorkerName = "",
    inputs: Inputs = None,
    name: Name = "",
    stream: Stream = "",
    wait: Wait = False,
    mcp: Mcp = None,
    rules: RuleFiles = None,
    function: Functions = None,
    notify: Notify = "",
    *,
    at: AnyEmbeddingAgent,
) -> None:
    """Run a worker until it ends, or waits for a person.

    Where a fleet runs in the home folder, one of its agents runs it, and resumes when somebody decides, watched or not.
    Each step is durable before the next: `hive-mind runs resume` continues a run that was stopped or killed. People decide with
    `hive-mind inbox`. Exit code 1 unless the run ended as accepted.
    """
    from hive_mind.agents.runs.executor import RunExecutor
    from hive_mind.cli.runs.run_shown import run_in_fleet
    from hive_mind.runtime.workers.runs import open_goal_seeking, worker_named

    options, settings = inputs_of(inputs or ()), at.settings()
    check_notify(notify)
    worker_spec = ruled(worker_named(worker), rules) if worker else None
    async with fleet_agent(settings.home, at.fleet, at.agent, timeout_s=settings.timeout_s) as running:
        if running is not None:
            refuse_notify(notify)
            await say_without_effect(running, at.opening())
            if function or (rules and not worker):
                option = "--function: its manifest has judge.functions" if function else "--rules: name the worker, too"
                raise InvalidInput(f"agent {running.name} of fleet {running.fleet} takes no {option}")
            await run_in_fleet(running, worker_spec, options, _named(name), at.output, stream=stream, is_waiting=wait)
            return
    if not worker:
        raise InvalidInput("say which worker: a file, or one that `hive-mind worker` lists")
    agent = at.agent or DEFAULT_AGENT
    async with open_goal_seeking(settings, agent, mcp=servers_of(mcp or ()), functions=functions_of(function or ())) as opened:
        parts = opened.parts
        spec = ruled(worker_named(worker, parts), rules)
        printer = printer_for(at.output)
        executor = RunExecutor(_named(name), parts, is_waiting=wait, on_step=printer.show_step, listen=printer.listen)
        await executor.start(spec, options, stream=stream)
        async with notifying(notify, parts):
            await driven(executor, agent, at.output, again(mcp, function, notify))


def ruled(worker: "WorkerSpec", files: Sequence[Path] | None) -> "WorkerSpec":
    """The worker with the rules of these files, in place of its own of the same names. Raises `RuleError` and `InvalidInput`."""
    if not files:
        return worker
    from hive_mind.agents.judging.rules_at_work import rules_in
    from hive_mind.judge.rules import RuleSet

    evaluation_rules = RuleSet(rule for file in files for rule in rules_in(file)).rules
    if about_facts := [rule.id for rule in evaluation_rules if rule.on == "fact"]:
        raise InvalidInput(f"rule {about_facts[0]} is about facts, and a run gives outputs: leave out `on`, or set it to output")
    rules = [rule for rule in worker.rules if rule.id not in {rule.id for rule in evaluation_rules}]
    return worker.model_copy(update={"rules": (*rules, *evaluation_rules)})


def functions_of(given: Sequence[str]) -> "dict[str, Callable[..., Any]]":
    """Functions by name. Raises `InvalidInput`."""
    from hive_mind.agents.judging import functions_at

    return functions_at(dict(_parted(given, "--function is NAME=FILE.py:NAME")))


def _parted(assignments: Sequence[str], form: str) -> Iterator[tuple[str, str]]:
    """Names with their values. Raises `InvalidInput`."""
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not (name and equals):
            raise InvalidInput(f"{form}, not {assignment[:60]!r}")
        yield name, value


def again(mcp: Sequence[str] | None, functions: Sequence[str] | None, notify: str) -> str:
    """The options that a resumed run needs as well, as they are written in a shell."""
    options = [("--mcp", value) for value in mcp or ()] + [("--function", value) for value in functions or ()]
    options += [("--notify", notify)] if notify else []
    return "".join(f" {option} {shlex.quote(value)}" for option, value in options)


async def driven(executor: "RunExecutor", agent: str, output: Format, options: str = "") -> None:
    """To its end, or to where it waits, and what that came to. `options`: those with which it is resumed."""
    from hive_mind.cli.runs.run_shown import show_run

    try:
        state = await executor.drive()
    except (asyncio.CancelledError, KeyboardInterrupt):
        which = f" --agent {agent}" if agent != DEFAULT_AGENT else ""
        raise Stopped(f"stopped; go on with: hive-mind runs resume {executor.run}{which}{options}") from None
    await show_run(executor, agent, output, options)
    if state.outcome != "accepted":
        raise typer.Exit(FAILED)


def printer_for(output: Format) -> "StepPrinter":
    """A printer of each step as it comes, for people."""
    from hive_mind.cli.runs.run_shown import StepPrinter

    return StepPrinter(is_silent=output is not Format.TEXT)


def inputs_of(given: Sequence[str]) -> dict[str, Any]:
    """Values by key. Raises `InvalidInput`."""
    pairs = _parted(given, "--input is KEY=VALUE")
    return {key: _text_of(value[1:]) if value.startswith("@") else value for key, value in pairs}


def servers_of(given: Sequence[str]) -> list["McpServer"]:
    """MCP servers by name. Raises `InvalidInput`."""
    from hive_mind.tools import McpServer

    servers = []
    for assignment in given:
        name, equals, command = assignment.partition("=")
        if not (name and equals and command.strip()):
            raise InvalidInput(f"--mcp is NAME=COMMAND, not {assignment[:60]!r}")
        is_url = command.startswith(("http://", "https://"))
        servers.append(McpServer(name, () if is_url else tuple(shlex.split(command)), command if is_url else ""))
    return servers


def _named(name: str) -> str:
    from hive_mind.agents.runs.run_journal import checked_name

    return checked_name(name) if name else secrets.token_hex(4)


def _text_of(name: str) -> str:
    path = Path(name)
    if not path.is_file():
        raise InvalidInput(f"there is no file {name!r} to take an input from")
    if (size := path.stat().st_size) > _VALUE_BYTES_MAX:
        raise InvalidInput(
            f"{name} has {size:,} bytes: an input has at most {_VALUE_BYTES_MAX:,}; give the name of the file instead"
        )
    return path.read_text("utf-8", "replace")


Named = Annotated[
    str,
    typer.Argument(
        metavar="WORKER", help="The name of a built-in worker; with --graph also a file of kind Worker.", show_default="list them"
    ),
]
AsGraph = Annotated[bool, typer.Option("--graph", help="Draw it as a Mermaid flowchart.")]


@group.called_as(
    "hive-mind worker", "hive-mind worker incident-review > review.yaml", "hive-mind worker review.yaml --graph > review.mmd"
)
async def worker(name: Named = "", graph: AsGraph = False, output: options.Output = Format.TEXT) -> None:
    """List the built-in workers, print the file of one, to start from, or draw one.

    A worker is a graph: nodes that do something (a model with tools, one call, a question to a person), and edges between them.
    `hive-mind file validate` checks one.
    """
    from hive_mind.agents.runs import bundled, text_of
    from hive_mind.runtime.workers.runs import worker_named

    if not name:
        if graph:
            raise InvalidInput("--graph draws one worker: name it, or give its file")
        specs = [worker_named(name) for name in bundled()]
        document = [{"id": spec.id, "version": spec.version, "description": spec.description} for spec in specs]
        rows = [(spec.id, spec.description) for spec in specs]
        show_result(output, document, lambda: show_table(["worker", "what for"], rows))
        return
    refuse_ineffective("the file or the drawing of a worker", output=output is Format.JSON)
    if graph:
        from hive_mind.runs.worker_file import mermaid

        show(mermaid(worker_named(name)))
    else:
        show(text_of(name).rstrip())
