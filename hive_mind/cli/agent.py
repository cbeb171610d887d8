"""`hive-mind agent run`: a worker of one agent as one member of a hive, until it is told to stop.

Commands reach it as they reach a process of a fleet.

SIGTERM ends it well: what is under way is finished. So does Ctrl-C, and says so by its exit code, as for any command.
"""

import asyncio
import logging
import signal
from contextlib import AsyncExitStack
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hive_mind import __version__
from hive_mind.bus.address import in_words
from hive_mind.cli import options
from hive_mind.cli.agent_config import run_configured, set_by_signals
from hive_mind.cli.options import Group, examples, settings_for
from hive_mind.cli.output import say
from hive_mind.cli.running import USAGE, Stopped
from hive_mind.clocks import LEAVE_S
from hive_mind.errors import InvalidInput
from hive_mind.hive.topology.sharded import REPLICAS
from hive_mind.hive.topology.spec import DEFAULT, SPECS
from hive_mind.runtime.keys import Proof
from hive_mind.runtime.logs import log_as_json, send_spans
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.metrics import serve as serve_metrics
from hive_mind.runtime.node import HIVE
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.workers.config import (
    AgentConfig,
    BusConfig,
    HiveConfig,
    IdentityConfig,
    ModelsConfig,
    NodeConfig,
    WorkerConfig,
)
from hive_mind.runtime.workers.process import reached_here
from hive_mind.runtime.workers.worker import open_worker
from hive_mind.runtime.workers.worker_host import Hosting


class LogForm(StrEnum):
    """How notices are written."""

    TEXT = "text"
    JSON = "json"
    HOPS = "hops"


_EPILOG_OF_CONFIG = examples("hive-mind agent --config .hive/fleets/town/config/town-0.json")

group = Group(name="agent", help="Run an agent as a process of its own, in a hive with others.", no_args_is_help=True)

Config = Annotated[Path | None, typer.Option("--config", help="A worker's configuration: the nodes and agents to run.")]
Searches = Annotated[str, typer.Option("--searches", help="Another bus for questions and their replies, such as Event Hubs.")]
Keys = Annotated[
    Path | None, typer.Option("--keys", help="Its key and certificates: prove who it is, and have others prove it (keys export).")
]
Leave = Annotated[bool, typer.Option("--leave", help="When it ends, hand everything over and leave the hive for good.")]
Metrics = Annotated[int, typer.Option("--metrics", min=0, max=65535, help="Port for Prometheus on this machine; 0 for none.")]
Ready = Annotated[float, typer.Option("--ready-s", min=0.1, max=600, help="How long to wait for the bus and the others.")]

_SETTINGS = Settings()


@group.callback(invoke_without_command=True, epilog=_EPILOG_OF_CONFIG)
def agent(context: typer.Context, config: Config = None) -> None:
    """Run an agent as a process of its own, in a hive with others; or with --config all that a configuration describes."""
    if context.invoked_subcommand is not None:
        if config is not None:
            raise typer.BadParameter("--config can't be combined with a subcommand")
        return
    if config is None:
        say("error: give --config FILE, or the subcommand run", style="red")
        raise typer.Exit(USAGE)
    run_configured(config)


@group.called_as(
    "hive-mind agent run --bus redis://127.0.0.1:6379 --name ada --members ada,ben,cleo,dan",
    "hive-mind agent run --bus redis://127.0.0.1:6379 --name eve --join",
)
async def run(
    bus: Annotated[str, typer.Option("--bus", help=f"The bus that all members share: {in_words()}")],
    name: Annotated[str, typer.Option("--name", help="This agent's name, and that of its node.")],
    hive: Annotated[str, typer.Option("--hive", help="Name of the hive; others may share the bus.")] = HIVE,
    topology: Annotated[str, typer.Option("--topology", help=f"{', '.join(SPECS)}; the same for all founders.")] = DEFAULT,
    members: Annotated[str, typer.Option("--members", help="All founders: a,b,c; or group:a,group:b in a federated hive.")] = "",
    join: Annotated[bool, typer.Option("--join", help="Join a hive that runs already.")] = False,
    group: Annotated[str, typer.Option("--group", help="The group to join in a federated hive; by default the smallest.")] = "",
    searches: Searches = "",
    keys: Keys = None,
    replicas: Annotated[int, typer.Option("--replicas", min=1, max=9, help="Copies of each fact in a sharded hive.")] = REPLICAS,
    home: options.Home = None,
    store: Annotated[str, typer.Option("--store", help="sqlite, or memory to keep nothing.")] = _SETTINGS.store,
    embed: Annotated[str, typer.Option("--embed", help="none, sentence_transformers or openai.")] = "none",
    model: options.Model = None,
    leave: Leave = False,
    ready_s: Ready = 30.0,
    metrics: Metrics = 0,
    trace: Annotated[str, typer.Option("--trace", help="Where spans go: console, or the URL of an OTLP collector.")] = "",
    log: Annotated[
        LogForm,
        typer.Option("--log", help="Notices on stderr: text, json for programs, or hops: json, and every step of a question."),
    ] = LogForm.TEXT,
) -> None:
    """Run one agent of a hive. All founders are started with the same --members; others --join."""
    founders = tuple(founder.strip() for founder in members.split(",") if founder.strip())
    if join and founders:
        raise InvalidInput("--join and --members are mutually exclusive")
    proof = Proof("require", keys, name) if keys else None
    plan = MemberPlan(name, bus, hive, topology, founders, group, join, searches, replicas, proof=proof)
    plan.founding()
    config = _config_of(plan, replace(settings_for(home, embed, model), store=store))
    stop, received = asyncio.Event(), list[signal.Signals]()
    async with AsyncExitStack() as stack:
        stack.enter_context(set_by_signals(stop, received))
        # Logs and spans for programs, as long as the process runs.
        if log is not LogForm.TEXT:
            stack.callback(
                logging.getLogger("hive_mind").removeHandler, log_as_json(logging.DEBUG if log is LogForm.HOPS else logging.INFO)
            )
        if trace:
            stack.callback(send_spans(trace, f"hive-mind {hive} {name}", __version__))
        worker = await open_worker(config, say, hosting=Hosting(gives_up_s=ready_s))
        stack.push_async_callback(worker.close)
        await stack.enter_async_context(reached_here(worker, config))
        if metrics:
            stack.callback(serve_metrics(worker.figures, metrics).stop)
        await worker.run_until(stop)
        if leave:
            await worker.leave(LEAVE_S)
        say(f"{name}: finishing")
    if signal.SIGINT in received:
        raise Stopped(f"{name}: stopped; what was acknowledged is kept")
    say(f"{name}: stopped")


def _config_of(plan: MemberPlan, settings: Settings) -> WorkerConfig:
    """A worker of one agent, called like its node."""
    home, name = settings.home.absolute(), plan.name
    return WorkerConfig(
        fleet="",
        process=name,
        home=str(home),
        run=str(home / "hives" / plan.hive / "run"),
        hive=HiveConfig(plan.hive, plan.topology, plan.founders, replicas=plan.replicas),
        nodes=(NodeConfig(name, (name,), plan.group, is_joining=plan.is_joining),),
        agents=(AgentConfig(name),),
        bus=BusConfig(plan.bus, plan.searches),
        models=ModelsConfig(settings.store, settings.embed, settings.embed_model, settings.embed_url, ann=settings.ann),
        domain_routing=False,
        identity=IdentityConfig("require", str(plan.proof.folder)) if plan.proof else IdentityConfig(),
    )
