"""`hive-mind chat`: talk with an agent in the terminal. Questions are answered with their sources, statements are learned."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.answer_shown import show_answer
from hive_mind.cli.asking.asked import LocalAgent
from hive_mind.cli.asking.chat_commands import HELP, ChatCommands
from hive_mind.cli.fleet.agents import Fleet, FleetAgent, fleet_agent
from hive_mind.cli.options import DEFAULT_AGENT, examples, settings_for
from hive_mind.cli.output import plain, printable, say, show
from hive_mind.cli.running import command
from hive_mind.counted import counted

_EPILOG = examples("hive-mind chat", "hive-mind chat harbour --fleet town", 'echo "When does the ferry leave?" | hive-mind chat')
_WELCOME = f"Ask with a question mark; anything else is learned. {HELP}. End with Ctrl-D."
_QUOTES = "No language model: answers are quotations of what was learned; --model names one."

Talked = Annotated[str, typer.Argument(metavar="AGENT", help="Who to talk with.", show_default=DEFAULT_AGENT)]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EPILOG)(chat)


@command
async def chat(
    agent: Talked = "",
    fleet: Fleet = "",
    home: options.Home = None,
    embed: options.Embed = None,
    model: options.Model = None,
) -> None:
    """Talk with an agent: questions are answered with their sources, anything else is learned.

    /facts lists facts, /why says where one comes from, /retract takes one back.
    Where a fleet runs in the home folder, one of its agents is talked with.
    """
    settings = settings_for(home, embed, model)
    if sys.stdin.isatty():
        say(_WELCOME, style="dim")
        if not settings.llm:
            say(_QUOTES, style="dim")
    async with fleet_agent(settings.home, fleet, agent) as running:
        if running is not None:
            await _with_fleet(running)
            return
    await _alone(agent or DEFAULT_AGENT, home, embed, model)


async def _alone(agent: str, home: Path | None, embed: str | None, model: str | None) -> None:
    from hive_mind.agents.goal_seeking import GoalSeekingAgent
    from hive_mind.agents.learning import Learned
    from hive_mind.agents.runs.inputs import lines_of
    from hive_mind.model.answer import Answer
    from hive_mind.runtime.calls import AgentCalls
    from hive_mind.runtime.told import answer_told
    from hive_mind.runtime.wiring import open_agent

    async with await open_agent(settings_for(home, embed, model), agent) as opened:
        talking = GoalSeekingAgent(agent, opened.memory, opened.reader)
        commands = ChatCommands(LocalAgent(agent, AgentCalls(opened, None, is_kept=True)))
        async for _, done in talking.serve(commands.aside(lines_of(sys.stdin))):
            if isinstance(done, Answer):
                show_answer(plain(answer_told(done, agent)), own=agent)
                commands.shown = [hit.fact.id for hit in done.sources]
            elif isinstance(done, Learned):
                _show_learned(len(done.facts), done.added)
            show()


async def _with_fleet(running: FleetAgent) -> None:
    from hive_mind.agents.runs.inputs import lines_of

    commands = ChatCommands(running)
    async for line in commands.aside(lines_of(sys.stdin)):
        text = printable(line)
        if text.endswith(("?", "？")):
            reply = await running.call("ask", question=text, limit=10, method="hybrid")
            show_answer(reply, own=running.name)
            commands.shown = [hit["fact_id"] for hit in reply["sources"]]
        else:
            reply = await running.call("learn", text=text, source="user", said_at="", title="")
            _show_learned(len(reply["facts"]), reply["added"])
        show()


def _show_learned(facts: int, added: int) -> None:
    if not facts:
        show("There is nothing in that to remember: say it in a sentence.")
    else:
        show(f"Learned {counted(facts, 'fact')}, {added} new.")
