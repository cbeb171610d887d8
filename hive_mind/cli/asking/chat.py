"""`hive-mind chat`: talk with an agent in the terminal. Questions are answered with their sources, statements are learned."""

import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.asking.asked import AnsweringAgent, AnyEmbeddingAgent, Called, Fleet, FleetAgent, asked_agent, fleet_agent
from hive_mind.cli.asking.quick_ask import show_answer
from hive_mind.cli.options import DEFAULT_AGENT, Group, settings_for
from hive_mind.cli.output import printable, say, short_id, show, show_indented, shown_source
from hive_mind.cli.review import person
from hive_mind.control import RESIDENT
from hive_mind.counted import counted
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.model.ids import PREFIX_CHARACTERS_MIN
from hive_mind.runtime.settings import ANSWERING_GIVEN, Settings

_FACTS = 10
_QUEEN = "queen"
HELP = "/facts [WORDS] lists facts, /why [NUMBER or ID] says where one comes from, /retract NUMBER or ID takes it back"


@dataclass(slots=True)
class ChatCommands:
    """Commands to one agent. `shown` are the ids of the facts that were shown last: numbers mean these."""

    agent: Called
    shown: Sequence[str] = ()

    async def aside(self, lines: AsyncIterable[str]) -> AsyncIterator[str]:
        """The lines that are no commands; those that are, are carried out."""
        async for line in lines:
            if not line.startswith("/"):
                yield line
                continue
            try:
                await self._do(line)
            except HiveError as error:
                say(f"error: {error}", style="red")
            show()

    async def _do(self, line: str) -> None:
        name, _, rest = line[1:].partition(" ")
        methods: dict[str, Callable[[str], Awaitable[None]]] = {"facts": self._facts, "why": self._why, "retract": self._retract}
        if name not in methods:
            show(HELP)
            return
        await methods[name](rest.strip())

    async def _facts(self, words: str) -> None:
        if words:
            facts = (await self.agent.call("search", query=words, limit=_FACTS))["hits"]
        else:
            facts = (await self.agent.call("facts", limit=_FACTS))["facts"]
        self.shown = [fact["fact_id"] for fact in facts]
        if not facts:
            show("Nothing found." if words else "No facts yet.")
        for number, fact in enumerate(facts, start=1):
            show_indented(f"{fact['content']} · id {short_id(fact['fact_id'])}", lead=f"{number:>3}.")

    async def _why(self, text: str) -> None:
        fact = await self.agent.call("why", fact_id=await self._meant(text or "1"))
        show(fact["content"], style="bold")
        for source in fact["sources"]:
            show_indented(f"said by {shown_source(source)}" + (f", {fact['said_at']}" if fact["said_at"] else ""))
        for episode in fact["said_in"]:
            show_indented(f"“{episode['text'].strip()}” ({shown_source(episode['source'])})", style="dim")
        for name, ids in (("replaces", fact["replaces"]), ("replaced by", [fact["superseded_by"]])):
            if any(ids):
                show_indented(f"{name} {', '.join(map(short_id, ids))}")

    async def _retract(self, text: str) -> None:
        reply = await self.agent.call("retract", fact_id=await self._meant(text))
        show(f"Retracted {short_id(reply['fact_id'])}.")

    async def _meant(self, text: str) -> str:
        """The id of a fact by its number among those shown last, or by the beginning of its id. Raises `InvalidInput`."""
        if text.isdecimal() and 0 < int(text) <= len(self.shown):
            return self.shown[int(text) - 1]
        if len(text) >= PREFIX_CHARACTERS_MIN:
            facts = (await self.agent.call("facts", limit=0))["facts"]
            ids: list[str] = [*self.shown, *(fact["fact_id"] for fact in facts)]
            fact_ids = {fact_id for fact_id in ids if fact_id.startswith(text.lower())}
            if len(fact_ids) == 1:
                return fact_ids.pop()
        raise InvalidInput(f"no fact {text!r} was shown: give its number in the last answer or list, or its id")


_WELCOME = f"Ask with a question mark; anything else is learned. {HELP}. End with Ctrl-D."
_QUOTES = "No language model: answers are quotations of what was learned; --model names one."


group = Group()


@group.called_as(
    "hive-mind chat",
    "hive-mind chat queen",
    "hive-mind chat --run 4f1a2b3c",
    "hive-mind chat harbour --fleet town",
    'echo "When does the ferry leave?" | hive-mind chat',
)
async def chat(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent to talk with.", show_default=DEFAULT_AGENT)] = "",
    fleet: Fleet = "",
    home: options.Home = None,
    embed: options.Embed = None,
    model: options.Model = None,
    run: Annotated[str, typer.Option("--run", metavar="RUN", help="Talk with this run of the agent instead.")] = "",
) -> None:
    """Talk with an agent: questions are answered with their sources, anything else is learned.

    /facts lists facts, /why says where one comes from, /retract takes one back.
    Where a fleet runs in the home folder, you talk with one of its agents. With --run you talk with a run, where one of its
    nodes does (clientFacing).
    The queen of a fleet (her agent, or just `queen`) is asked about its runs, and given orders: she asks before she does one.
    """
    settings = settings_for(home, embed, model)
    if run:
        await _with_run(settings, fleet, agent, run)
        return
    if queen := await _queen_meant(settings, fleet, agent):
        async with fleet_agent(settings.home, *queen, timeout_s=settings.timeout_s) as running:
            if running is not None:
                await _with_queen(running)
                return
    if sys.stdin.isatty():
        say(_WELCOME, style="dim")
        if not settings.llm:
            say(_QUOTES, style="dim")
    async with asked_agent(
        settings, fleet, agent, may_begin=True, opening=[*AnyEmbeddingAgent(embed=embed, model=model).opening(), ANSWERING_GIVEN]
    ) as talking:
        await _talk(talking)


async def _queen_meant(settings: Settings, fleet: str, agent: str) -> tuple[str, str] | None:
    """Fleet and agent of the queen that is meant: by the name of her agent, or just as "queen"."""
    from hive_mind.control.manifests.expansion import names_of

    for name in fleets.fleets_in(settings.home) if agent else ():
        if name == RESIDENT or fleet not in ("", name) or fleets.is_stopped(settings.home, name):
            continue
        async with fleets.opened(settings.home, name) as controller:
            spec = controller.source().manifest.spec
        agents = [agent_name for template in spec.agents for agent_name in names_of(template)]
        if spec.queen.agent and (agent == spec.queen.agent or (agent == _QUEEN and _QUEEN not in agents)):
            return name, spec.queen.agent
    return None


async def _with_queen(running: FleetAgent) -> None:
    from hive_mind.agents.goal_seeking import lines_of
    from hive_mind.agents.queen_talk import HELP as QUEENS_HELP

    if sys.stdin.isatty():
        say(f"{QUEENS_HELP} End with Ctrl-D.", style="dim")
    order: dict[str, object] = {}
    async for line in lines_of(sys.stdin):
        try:
            reply = await running.call("queen_told", text=printable(line), source=person(""), inputs=order)
        except InvalidInput as error:
            say(f"error: {error}", style="red")
            order = {}
            continue
        order = reply["order"]
        show("\n".join(map(printable, reply["text"].split("\n"))))
        show()


async def _with_run(settings: Settings, fleet: str, agent: str, run: str) -> None:
    from hive_mind.agents.runs.run_journal import run_called
    from hive_mind.cli.review import ledger_of
    from hive_mind.cli.runs.run_shown import RunHere, RunOfFleet, talk
    from hive_mind.runtime.workers.runs import open_goal_seeking

    async with fleet_agent(settings.home, fleet, agent, timeout_s=settings.timeout_s) as running:
        if running is not None:
            await talk(RunOfFleet(running, (await running.call("run_shown", run=run))["run"]))
            return
    name = agent or DEFAULT_AGENT
    async with ledger_of(settings, name) as ledger:
        run = await run_called(ledger, run)
    async with open_goal_seeking(settings, name) as opened:
        await talk(RunHere(opened, run))


async def _talk(talking: AnsweringAgent) -> None:
    from hive_mind.agents.goal_seeking import lines_of

    commands = ChatCommands(talking)
    async for line in commands.aside(lines_of(sys.stdin)):
        text = printable(line)
        if text.endswith(("?", "？")):
            reply = await talking.call("ask", question=text, limit=10, method="hybrid")
            show_answer(reply, own=talking.name)
            commands.shown = [hit["fact_id"] for hit in reply["sources"]]
        else:
            reply = await talking.call("learn", text=text, source="user", said_at="", title="")
            facts = len(reply["facts"])
            if facts:
                show(f"Learned {counted(facts, 'fact')}, {reply['added']} new.")
            else:
                show(f"There is nothing in that to remember: {', '.join(reply['left_out']) or 'say it in a sentence'}.")
        show()
