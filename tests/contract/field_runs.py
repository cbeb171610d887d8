"""Fields about what agents run: workers, triggers, limits, tools of servers, and who looks after runs."""

import asyncio
import atexit
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hive_mind.errors import InvalidInput
from hive_mind.runs import TriggerConfig
from hive_mind.tools import ToolContext
from tests.contract.field_fleets import QUICK, Fleet, Ground, Sight, Story
from tests.contract.field_probes import Spec, fixed

ASK = """\
apiVersion: hive-mind/v1
kind: Worker
spec:
  id: {id}
  entry: look
  nodes:
    - {{id: look, kind: tool, tool: recall, args: {{query: $about}}, inputs: [about], outputs: [found]}}
    - {{id: ask, kind: person, prompt: '{id}', outputs: [word]}}
  edges: [{{source: look, target: ask}}]
  inputs: [about]
"""


def workers(worker: str, agent: Mapping[str, Any], triggers: list[dict[str, Any]], limits: dict[str, Any]) -> Spec:
    """A fleet of one agent that runs things by itself; the files are written where the manifest is."""

    def spec(ground: Ground) -> dict[str, Any]:
        for name in ("first", "second"):
            (ground.folder / f"{name}.yaml").write_text(ASK.format(id=name), "utf-8")
        for token in ("one", "two"):
            (ground.folder / f"{token}.txt").write_text(token, "utf-8")
        ada = {"name": "ada", "worker": f"{worker}.yaml", "triggers": triggers, "limits": limits, **agent}
        return {"gossip": QUICK, "agents": [ada]}

    return spec


async def runs_of(fleet: Fleet) -> list[dict[str, Any]]:
    return list((await fleet.call("runs", limit=1_000))["runs"])


async def own_worker(fleet: Fleet) -> str:
    """Which worker a run is of that names none."""
    await fleet.call("run", run=f"own{fleet.step}", inputs={"about": "pumps"})
    return str((await fleet.call("run_shown", run=f"own{fleet.step}"))["worker"])


async def may_recall(fleet: Fleet) -> bool:
    """Whether its worker gets to the question behind the tool."""
    name = f"may{fleet.step}"
    await fleet.call("run", run=name, inputs={"about": "pumps"})
    for _ in range(500):
        if (shown := await fleet.call("run_shown", run=name))["status"] != "unfinished":
            return bool(shown["at"] == ["ask"])
        await asyncio.sleep(0.02)
    raise AssertionError("it comes to nothing")


async def hooks(fleet: Fleet) -> list[str]:
    """The hooks that begin a run."""
    found = []
    for name in ("mail", "news"):
        try:
            await fleet.call("hook", title=name, source=f"{name}{fleet.step}")
        except InvalidInput:
            continue
        found.append(name)
    return found


async def told_by_triggers(fleet: Fleet) -> set[str]:
    """What the last run of a hook was given."""
    run = (await fleet.call("hook", title=("mail", "news")[fleet.step], source=f"about{fleet.step}"))["run"]
    return set((await fleet.call("run_shown", run=run))["inputs"].values())


async def begins_by_itself(fleet: Fleet) -> bool:
    """Whether a run comes without anybody asking for it."""
    before = len(await runs_of(fleet))
    for _ in range(40):
        if len(await runs_of(fleet)) > before:
            return True
        await asyncio.sleep(0.05)
    return False


def limit_of(name: str) -> Callable[[Fleet], Any]:
    """A limit that a run of the agent's own worker has."""

    async def see(fleet: Fleet) -> Any:
        run = f"{name}{fleet.step}"
        await fleet.call("run", run=run, inputs={"about": "pumps"})
        return (await fleet.call("run_shown", run=run))["limits"][name]

    return see


def served(name: str, idempotent: str, variable: str, place: Mapping[str, Any]) -> Spec:
    """An agent that may use the tools of a server."""

    def spec(ground: Ground) -> dict[str, Any]:
        nodes = "[{id: a, tools: ['mcp:tickets/*', 'mcp:letters/*']}]"
        head = "apiVersion: hive-mind/v1\nkind: Worker\nspec: "
        (ground.folder / "tools.yaml").write_text(f"{head}{{id: w, entry: a, nodes: {nodes}}}\n", "utf-8")
        server = {"name": name, "env": {"PYTHONPATH": str(ROOT), variable: "1"}, "idempotent": [idempotent], **place}
        return {"gossip": QUICK, "agents": [{"name": "ada", "worker": "tools.yaml"}], "mcp": [server]}

    return spec


async def tools_of_servers(fleet: Fleet) -> dict[str, bool]:
    """By name, whether each may be called twice."""
    tools = (await fleet.call("tools"))["tools"]
    return {name: bool(one["idempotent"]) for name, one in tools.items() if name.startswith("mcp:")}


async def names_of_servers(fleet: Fleet) -> set[str]:
    return {name.partition("/")[0] for name in await tools_of_servers(fleet)}


async def may_repeat(fleet: Fleet) -> set[str]:
    return {name.partition("/")[2] for name, may in (await tools_of_servers(fleet)).items() if may}


async def seen_by_server(fleet: Fleet) -> bool:
    """Whether its process has the variable of the second step."""
    runs = fleet.agent().runs
    box = (await runs.calls())._toolbox  # type: ignore[union-attr]
    tool = next(one for one in box if one.name.endswith("/environment"))
    return "SECOND" in str(await tool.call(ToolContext(), {}))


ROOT = Path(__file__).parents[2]
SERVER = [sys.executable, "-m", "tests.servers.mcp_server", "."]
SERVERS = Story(
    "servers",
    served("tickets", "get_*", "FIRST", {"command": SERVER}),
    served("letters", "open_*", "SECOND", {"command": [*SERVER, "more"]}),
    {
        "spec.mcp.name": Sight(names_of_servers, {"mcp:tickets"}, {"mcp:letters"}),
        "spec.mcp.idempotent": Sight(may_repeat, {"get_ticket"}, {"open_ticket"}),
        "spec.mcp.env": Sight(seen_by_server, False, True),
        "spec.mcp.command": Sight(lambda f: f.worker.config.mcp[0].command[-1], ".", "more"),
    },
)
ADDRESS = Story(
    "address",
    # No worker names it, so nobody looks for it there.
    served("unused", "get_*", "FIRST", {"url": "http://127.0.0.1:9/mcp"}),
    served("unused", "get_*", "FIRST", {"url": "http://127.0.0.1:10/mcp"}),
    {"spec.mcp.url": Sight(lambda f: f.worker.config.mcp[0].url, "http://127.0.0.1:9/mcp", "http://127.0.0.1:10/mcp")},
)

ABOUT = {"about": "pumps"}
RUNS = Story(
    "runs",
    workers("first", {}, [{"hook": "mail", "inputs": ABOUT}], {"turns": 5, "tokens": 1_000, "usd": 1.0, "seconds": 60.0}),
    workers(
        "second",
        {"tools": ["learn"]},
        [{"hook": "news", "inputs": {"about": "boats"}}],
        {"turns": 7, "tokens": 2_000, "usd": 2.0, "seconds": 90.0},
    ),
    {
        "spec.agents.worker": Sight(own_worker, "first", "second"),
        "spec.agents.tools": Sight(may_recall, True, False),
        "spec.agents.triggers.hook": Sight(hooks, ["mail"], ["news"]),
        "spec.agents.triggers.inputs": Sight(told_by_triggers, {"pumps"}, {"boats"}),
        **{
            f"spec.agents.limits.{name}": Sight(limit_of(name), before, after)
            for name, before, after in (("turns", 5, 7), ("tokens", 1_000, 2_000), ("usd", 1.0, 2.0), ("seconds", 60.0, 90.0))
        },
    },
)


def watched(see: Callable[[Any], Any], agent: str = "ada") -> Callable[[Fleet], Any]:
    """Of what an agent does beside its runs."""

    def look(fleet: Fleet) -> Any:
        watch = fleet.agent(agent).runs.watch  # type: ignore[union-attr]
        return see(watch) if watch else None

    return look


def with_duty(duty: str) -> Callable[[Fleet], list[str]]:
    """The agents that have it."""
    return lambda fleet: [name for name in ("ada", "bob") if duty in (watched(lambda watch: watch.duties, name)(fleet) or ())]


def of_watcher(name: str) -> Callable[[Fleet], Any]:
    """A setting of whoever looks."""
    return lambda fleet: watched(lambda watch: getattr(watch.settings, name), with_duty("watcher")(fleet)[0])(fleet)


HEALTH = Story(
    "health",
    fixed(
        gossip=QUICK,
        agents=[{"name": "ada"}, {"name": "bob"}],
        queen={"agent": "bob"},
        health={"agent": "bob", "everyS": 60, "warn": 2, "degraded": 4, "critical": 6, "stallMin": 2},
    ),
    fixed(
        gossip=QUICK,
        agents=[{"name": "ada"}, {"name": "bob"}],
        queen={"agent": "ada"},
        health={"agent": "ada", "everyS": 90, "warn": 3, "degraded": 5, "critical": 7, "stallMin": 3},
    ),
    {
        "spec.queen.agent": Sight(with_duty("queen"), ["bob"], ["ada"]),
        "spec.health.agent": Sight(with_duty("watcher"), ["bob"], ["ada"]),
        **{
            f"spec.health.{field}": Sight(of_watcher(name), before, after)
            for field, name, before, after in (
                ("everyS", "every_s", 60, 90),
                ("warn", "warn", 2, 3),
                ("degraded", "degraded", 4, 5),
                ("critical", "critical", 6, 7),
                ("stallMin", "stall_min", 2, 3),
            )
        },
    },
)


def of_runs(see: Callable[[Any], Any]) -> Callable[[Fleet], Any]:
    """What an agent's runs have, at whose desk items wait."""
    return lambda fleet: see(fleet.agent("ada").runs)  # type: ignore[union-attr]


def notified(**fields: Any) -> Spec:
    return fixed(gossip=QUICK, agents=[{"name": "ada"}, {"name": "bob"}], queen={"agent": "ada"}, notify=fields)


NOTIFY = Story(
    "notify",
    notified(command=["true"], link="https://one.example", hours=5),
    notified(command=["true", "two"], link="https://two.example", hours=7),
    {
        "spec.notify.command": Sight(of_runs(lambda runs: runs.recipient), ("true",), ("true", "two")),
        "spec.notify.link": Sight(
            of_runs(lambda runs: runs.notices.link), "https://one.example/v1/replies/ada", "https://two.example/v1/replies/ada"
        ),
        "spec.notify.hours": Sight(of_runs(lambda runs: runs.notices.hours), 5, 7),
    },
)
WEBHOOK = Story(
    "webhook",
    notified(url="https://one.example/${env:FIRST_KEY}"),
    notified(url="https://two.example"),
    {"spec.notify.url": Sight(of_runs(lambda runs: runs.recipient), "https://one.example/key-one", "https://two.example")},
)
EVERY = Story(
    "every",
    workers("first", {}, [{"everyS": 3_600, "inputs": ABOUT}], {}),
    workers("first", {}, [{"everyS": 1, "inputs": ABOUT}], {}),
    {"spec.agents.triggers.everyS": Sight(begins_by_itself, False, True)},
)
CRON = Story(
    "cron",
    workers("first", {}, [{"cron": "0 0 29 2 *", "inputs": ABOUT}], {}),
    # Six fields: the last one is seconds.
    workers("first", {}, [{"cron": "* * * * * *", "inputs": ABOUT}], {}),
    {"spec.agents.triggers.cron": Sight(begins_by_itself, False, True)},
)


QUIET = socket.create_server(("127.0.0.1", 0))
atexit.register(QUIET.close)
SILENT = f"http://127.0.0.1:{QUIET.getsockname()[1]}"


def events_of(fleet: Fleet) -> TriggerConfig:
    """What its trigger listens to, as its process knows it."""
    return fleet.worker.config.agents[0].triggers[0]


# Takes connections and says nothing: that a run begins is shown in tests/unit/agents/runs/test_event_streams.py.
EVENTS = Story(
    "events",
    workers("first", {}, [{"events": f"{SILENT}/one", "token": "${file:one.txt}", "inputs": ABOUT}], {}),
    workers("first", {}, [{"events": f"{SILENT}/two", "token": "${file:two.txt}", "inputs": ABOUT}], {}),
    {
        "spec.agents.triggers.events": Sight(lambda f: events_of(f).events[-3:], "one", "two"),
        "spec.agents.triggers.token": Sight(lambda f: events_of(f).token[-8:-5], "one", "two"),
    },
)


STORIES = (RUNS, HEALTH, NOTIFY, WEBHOOK, EVERY, CRON, EVENTS, SERVERS, ADDRESS)
