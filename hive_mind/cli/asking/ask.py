"""`hive-mind ask`: an answer with its sources, or an honest "I don't know", which is a success like any other."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.reply_shown import show_reply
from hive_mind.cli.fleet.agents import Agent, Fleet, FleetAgent, fleet_agent
from hive_mind.cli.options import DEFAULT_AGENT, Format, SearchMethod, examples, for_reading, settings_for
from hive_mind.cli.output import plain, printable, say, show_json
from hive_mind.cli.ranking_files import ConfigFile
from hive_mind.cli.running import command
from hive_mind.cli.serving.direct import DirectAgent, resident
from hive_mind.model.query import LIMIT
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    from hive_mind.cli.ranking_files import Ways
    from hive_mind.model.query import Method

_EPILOG = examples(
    'hive-mind ask "When does the ferry leave?"',
    'hive-mind ask "Which pump failed in March?" --explain',
    'hive-mind ask "What does PMP-014 say?" --output json',
)

QuestionText = Annotated[str, typer.Argument(metavar="QUESTION", help="In your own words, in quotation marks.")]
Explain = Annotated[bool, typer.Option("--explain", help="Show how each source's score came about.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EPILOG)(ask)


@command
async def ask(
    context: typer.Context,
    question: QuestionText,
    limit: options.Limit = LIMIT,
    explain: Explain = False,
    method: options.Method = SearchMethod.HYBRID,
    config: ConfigFile = None,
    agent: Agent = "",
    fleet: Fleet = "",
    home: options.Home = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Ask what the agent has learned.

    The answer comes with the facts it rests on. Not knowing is an answer too, and no error. Where a fleet runs in the home
    folder, one of its agents is asked, and answers from what all of them share.
    """
    if not (fleet or explain or config) and (direct := await _resident(home, agent)):
        await _ask_running(direct, question, limit, method.value, output)
        return
    from hive_mind.cli.ranking_files import ways_of

    settings, ways = settings_for(home, embed, model), ways_of(context, config, method.value, limit)
    async with fleet_agent(settings.home, fleet, agent) as running:
        if running is not None:
            if explain:
                say("note: an agent of a fleet tells its scores, not what they are made of", style="yellow")
            if ways.ranking:
                say("note: an agent of a fleet ranks as its manifest says: of --config it takes method and top_k", style="yellow")
            await _ask_running(running, question, ways.limit, ways.method, output)
            return
    await _ask_alone(settings, agent or DEFAULT_AGENT, question, ways, output, explain=explain)


async def _resident(home: Path | None, agent: str) -> DirectAgent | None:
    found = await asyncio.to_thread(resident, settings_for(home).home, agent or DEFAULT_AGENT)
    if found is not None:
        say(f"using agent {found.name} of fleet {found.fleet}", style="dim")
    return found


async def _ask_running(running: "FleetAgent | DirectAgent", question: str, limit: int, method: str, output: Format) -> None:
    reply = await running.call("ask", question=printable(question), limit=limit, method=method)
    show_reply(printable(question), {"fleet": running.fleet, "agent": running.name}, reply, output)


async def _ask_alone(settings: Settings, agent: str, question: str, ways: "Ways", output: Format, *, explain: bool) -> None:
    from hive_mind.cli.asking.answer_shown import show_answer
    from hive_mind.runtime.wiring import open_agent

    async with await open_agent(for_reading(settings, agent), agent, ways.ranking) as answerer:
        answer = await answerer.answer_question(printable(question), ways.limit, cast("Method", ways.method))
    if output is Format.JSON:
        show_json({"question": printable(question)} | plain(answer) | {"is_known": answer.is_known})
        return
    show_answer(answer, explain=explain)
