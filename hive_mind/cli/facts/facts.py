"""`hive-mind facts`: look at what an agent knows, and take facts back."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.answer_shown import show_hits
from hive_mind.cli.facts import count, facts_transfer
from hive_mind.cli.facts.fact_ids import fact_called
from hive_mind.cli.fleet.agents import Agent, Fleet, fleet_agent
from hive_mind.cli.fleet.running_facts import RunningFact, RunningFacts
from hive_mind.cli.options import DEFAULT_AGENT, Format, SearchMethod, examples, for_reading, settings_for
from hive_mind.cli.output import plain, printable, say, short_id, show, show_json, show_table, shown_source
from hive_mind.cli.running import command
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact
from hive_mind.model.query import LIMIT, Query
from hive_mind.runtime.wiring import open_memory

FactId = Annotated[str, typer.Argument(metavar="ID", help="A fact's id, or its first characters (6 or more).")]
Concept = Annotated[str, typer.Option(help="Only facts about this: part of their concept, or a name they mention.")]
Confirmed = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

group = typer.Typer(
    name="facts", help="Look at single facts: list, count, search, show, retract, export, import.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add the group."""
    count.register(group)
    facts_transfer.register(group)
    app.add_typer(group, epilog=examples('hive-mind facts search "cooling pump"', "hive-mind facts show 4f1a2b3c"))


@group.command("list", epilog=examples("hive-mind facts list", 'hive-mind facts list --concept "Pump D4" -n 50'))
@command
async def list_facts(
    concept: Concept = "",
    limit: options.Limit = 20,
    agent: options.Agent = DEFAULT_AGENT,
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> None:
    """List facts, the newest first."""
    async with await open_memory(for_reading(settings_for(home, embed="none"), agent), agent) as memory:
        found = await memory.search_by_concept(concept, limit) if concept else await memory.get_all_facts(limit)
        total = (await memory.get_statistics()).facts
    if output is Format.JSON:
        show_json(plain(found))
        return
    if not found:
        show(f"No fact about {concept!r}." if concept else "No facts yet.")
        return
    show_table(["id", "said", "fact"], [_row(fact) for fact in found])
    if len(found) == limit < total:
        # Beside the list, so that a program that counts lines counts facts.
        say("there may be more: see them with --limit" if concept else f"{limit} of {counted(total, 'fact')}: more with --limit")


@group.command(epilog=examples('hive-mind facts search "cooling pump"', "hive-mind facts search D4 --method keyword --explain"))
@command
async def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    limit: options.Limit = LIMIT,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score came about.")] = False,
    former: Annotated[bool, typer.Option("--with-superseded", help="Also find what was true before.")] = False,
    method: options.Method = SearchMethod.HYBRID,
    agent: options.Agent = DEFAULT_AGENT,
    home: options.Home = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Search facts, the best first.

    Unlike `ask` it shows whatever is nearest and does not judge whether that answers anything.
    """
    async with await open_memory(for_reading(settings_for(home, embed, model), agent), agent) as memory:
        hits = await memory.search_facts(Query(printable(query), limit, method.value, with_superseded=former))
    if output is Format.JSON:
        show_json(plain(hits))
        return
    if not hits:
        show("Nothing found: no fact has any of these words.")
    show_hits(hits, explain=explain)


@group.command("show", epilog=examples("hive-mind facts show 4f1a2b3c"))
@command
async def show_fact(
    id_: FactId,
    agent: options.Agent = DEFAULT_AGENT,
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Show all that is known about one fact, retracted ones too."""
    async with await open_memory(for_reading(settings_for(home, embed="none"), agent), agent) as memory:
        fact = await fact_called(memory, id_)
        episodes = await memory.episodes_of(fact.id)
        newer = await memory.get_fact(fact.superseded_by) if fact.superseded_by else None
    if output is Format.JSON:
        show_json(plain(fact) | {"episodes": [_episode_summary(episode) for episode in episodes]})
        return
    show(fact.content, style="bold")
    show_table(["", ""], [(name, value) for name, value in _details(fact, episodes, newer) if value])


@group.command(epilog=examples("hive-mind facts retract 4f1a2b3c --yes"))
@command
async def retract(
    id_: FactId,
    yes: Confirmed = False,
    agent: Agent = "",
    fleet: Fleet = "",
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Take a fact back.

    It is kept for the record and found by its id only; it comes back when another source says it again. Where a fleet runs in the
    home folder, one of its agents takes it back, and the hive lets go of it: what it said itself, or for a moderator anybody's.
    """
    settings = settings_for(home, embed="none")
    async with fleet_agent(settings.home, fleet, agent) as running:
        if running is not None:
            await _retract_in(RunningFacts(running), id_, output, yes=yes)
            return
    agent = agent or DEFAULT_AGENT
    async with await open_memory(for_reading(settings, agent), agent) as memory:
        fact = await fact_called(memory, id_)
        if not yes and not _is_wanted(fact):
            show("Kept.")
            return
        fact = await memory.retract_fact(fact.id)
    if output is Format.JSON:
        show_json(plain(fact))
    else:
        show(f"Retracted {short_id(fact.id)}: {fact.content}")


async def _retract_in(facts: RunningFacts, given: str, output: Format, *, yes: bool) -> None:
    fact = await fact_called(facts, given)
    if not yes and not _is_wanted(fact):
        show("Kept.")
        return
    fact = await facts.retract(fact)
    if output is Format.JSON:
        show_json(fact._asdict())
    else:
        show(f"Retracted {short_id(fact.id)}: {fact.content}")


def _is_wanted(fact: Fact | RunningFact) -> bool:
    if not sys.stdin.isatty():
        raise InvalidInput("to retract without being asked, add --yes")
    return typer.confirm(f"Retract “{fact.content}”?", err=True)


def _row(fact: Fact) -> tuple[str, str, str]:
    return short_id(fact.id), fact.said_at.replace("T", " "), fact.content


def _details(fact: Fact, episodes: Sequence[Episode], newer: Fact | None) -> list[tuple[str, str]]:
    return [
        ("id", fact.id),
        ("about", fact.concept),
        ("said by", fact.speaker),
        ("said at", fact.said_at.replace("T", " ")),
        ("sources", "\n".join(map(shown_source, fact.sources))),
        ("taken from", "\n".join(episode.title or shown_source(episode.source) for episode in episodes)),
        ("just before", fact.before),
        ("names", ", ".join(fact.entities)),
        ("labels", ", ".join(fact.labels)),
        ("confidence", f"{fact.confidence:.2f}"),
        ("sharing", ": ".join(part for part in (fact.sharing.value, fact.held_back) if part)),
        ("no longer true", _end_told(fact, newer)),
    ]


def _end_told(fact: Fact, newer: Fact | None) -> str:
    if not fact.superseded_by:
        return ""
    return f"replaced by {short_id(newer.id)}: {newer.content}" if newer else "its source no longer says it"


def _episode_summary(episode: Episode) -> dict[str, str]:
    return {"id": episode.id, "title": episode.title, "source": episode.source, "said_at": episode.said_at}
