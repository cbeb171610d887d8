"""`hive-mind facts`: look at what an agent knows, take facts back, or put a statement in place of one: `erase` is for good."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import AnsweringAgent, AnyAgent, AnyEmbeddingAgent, AskedFacts, FactId, asked_agent, knows_it_all
from hive_mind.cli.asking.quick_ask import Reply, show_hits, show_note
from hive_mind.cli.facts import facts_transfer
from hive_mind.cli.learning.files import source_named
from hive_mind.cli.options import Format, Group, SearchMethod, as_of_field, examples, is_confirmed, refuse_ineffective
from hive_mind.cli.output import plain, printable, say, short_id, show, show_json, show_table, shown_source
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.memory.fact_called import fact_called
from hive_mind.model.aggregation import Kind
from hive_mind.model.bounds import BOUNDS, OF_A_LIST
from hive_mind.model.content import SOURCE
from hive_mind.model.fact import Fact, Sharing
from hive_mind.model.query import LIMIT

Retracted = Annotated[
    str, typer.Argument(metavar="ID", help="A fact's id, or its first characters (6 or more).", show_default="none, for --source")
]
Source = Annotated[
    str,
    typer.Option("--source", help="All that this said: a file that was learned, or a source as `hive-mind sources` names it."),
]
By = Annotated[str, typer.Option("--by", help="The statement that holds now.")]
SaidBy = Annotated[str, typer.Option("--source", help="The source of the statement.")]


former = Group()


@former.called_as("hive-mind facts retract 4f1a2b3c --yes", "hive-mind facts retract --source notes/old.md --yes")
async def retract(id_: Retracted = "", source: Source = "", yes: options.Yes = False, *, at: AnyAgent) -> None:
    """Take a fact back, or all that a source said.

    A fact is kept for the record and found by its id only; it comes back when another source says it again. Where a fleet runs in
    the home folder, one of its agents takes it back, and the hive drops it too: an agent can retract what it said itself, a
    moderator what anybody said.

    Facts of a source that other sources confirm stay, without this one. The rest is kept for the record as former, and holds
    again when the source is learned again. `hive-mind erase` is for good.
    """
    if bool(id_) == bool(source):
        raise InvalidInput("say what is to be taken back: the ID of a fact, or --source, and not both")
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        await (_retract_source(agent, source, yes, at.output) if source else _retract_fact(agent, id_, yes, at.output))


async def _retract_fact(agent: AnsweringAgent, id_: str, yes: bool, output: Format) -> None:
    fact = await fact_called(AskedFacts(agent), id_)
    if not yes and not is_confirmed("retract", f"Retract “{fact.content}”?"):
        show("Kept.")
        return
    reply = await agent.call("retract", fact_id=fact.id)
    if output is Format.JSON:
        show_json(plain(replace(fact, sharing=Sharing(reply["sharing"]))))
    else:
        show(f"Retracted {short_id(fact.id)}: {fact.content}")


async def _retract_source(agent: AnsweringAgent, source: str, yes: bool, output: Format) -> None:
    counts = {row["source"]: row["facts"] for row in (await agent.call("sources", query=""))["sources"]}
    name = source_named(printable(source), counts)
    if not yes and not is_confirmed("retract", f"Retract {counted(counts[name], 'fact')} of {shown_source(name)}?"):
        show("Kept.")
        return
    former = (await agent.call("withdraw", source=name))["former"]
    if output is Format.JSON:
        show_json({"source": name, "former": former})
    else:
        show(f"{shown_source(name)}: {counted(former, 'fact is', 'facts are')} no longer said")


@former.called_as('hive-mind facts supersede 4f1a2b3c --by "The ferry leaves at ten."')
async def supersede(id_: FactId, by: By, source: SaidBy = SOURCE, *, at: AnyAgent) -> None:
    """Replace a fact by what holds now; the old one becomes former."""
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        former_id = (await fact_called(AskedFacts(agent), id_)).id
        newer_id = (await agent.call("correct", fact_id=former_id, content=printable(by), source=source))["fact_id"]
    if at.output is Format.JSON:
        show_json({"id": newer_id, "replaces": former_id})
    else:
        show(f"{short_id(former_id)} is former; {short_id(newer_id)} holds: {by}")


_LISTED = 20

Concept = Annotated[str, typer.Option(help="Only facts about this: part of their concept, or a name they mention.")]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "-n",
        min=OF_A_LIST.least,
        max=OF_A_LIST.most,
        help="At most this many; 0: all.",
        show_default=f"{_LISTED}, or 1 with --latest and --earliest",
    ),
]

group = Group(
    name="facts",
    help="Look at single facts: list, search, show, retract, supersede, export, import.",
    no_args_is_help=True,
    epilog=examples('hive-mind facts search "cooling pump"', "hive-mind facts show 4f1a2b3c"),
)
group.add_typer(facts_transfer.group)
group.add_typer(former)


@group.called_as(
    "hive-mind facts list",
    'hive-mind facts list --concept "Pump D4" -n 50',
    "hive-mind facts list --concept D4 --count",
    name="list",
)
async def list_facts(
    concept: Concept = "",
    count: Annotated[bool, typer.Option("--count", help="Count them.")] = False,
    latest: Annotated[bool, typer.Option("--latest", help="Count them, and show the latest, by when they were said.")] = False,
    earliest: Annotated[bool, typer.Option("--earliest", help="Count them, and show the earliest.")] = False,
    limit: Limit = None,
    *,
    at: AnyAgent,
) -> None:
    """List facts, the newest first, or count them, each once.

    Where a fleet runs in the home folder, one of its agents lists what all of them share; facts of the whole hive are counted,
    and what did not answer is named.
    """
    if count + latest + earliest > 1:
        raise InvalidInput("--count, --latest and --earliest are mutually exclusive")
    if count:
        refuse_ineffective("--count", limit=limit)
    if count or latest or earliest:
        number = 1 if limit is None else limit
        BOUNDS["limit"].refuse("--limit", number)
        await _aggregate("count" if count else "latest" if latest else "earliest", concept, number, at)
        return
    limit = _LISTED if limit is None else limit
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        facts = await AskedFacts(agent).listed(concept, limit)
        total = (await AskedFacts(agent).statistics()).facts if len(facts) == limit and knows_it_all(agent) else 0
    if at.output is Format.JSON:
        show_json(plain(facts))
        return
    if not facts:
        show(f"No fact about {concept!r}." if concept else "No facts yet.")
        return
    show_table(["id", "said", "fact"], [_row(fact) for fact in facts])
    if len(facts) == limit != total:
        # Beside the list, so that a program that counts lines counts facts.
        is_counted = total and not concept
        say(
            f"{limit} of {counted(total, 'fact')}: more with --limit"
            if is_counted
            else "there may be more: see them with --limit"
        )


@group.called_as('hive-mind facts search "cooling pump"', "hive-mind facts search D4 --method keyword --explain")
async def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The words to look for.")],
    limit: options.Limit = LIMIT,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score came about.")] = False,
    former: Annotated[bool, typer.Option("--with-superseded", help="Also find what was true before.")] = False,
    as_of: options.AsOf = "",
    method: options.Method = SearchMethod.HYBRID,
    *,
    at: AnyEmbeddingAgent,
) -> None:
    """Search facts, the best first.

    Unlike `ask` it shows whatever is nearest and does not judge whether that answers anything. Where a fleet runs in the home
    folder, one of its agents searches what all of them share.
    """
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        fields = {"limit": limit, "method": method.value, "with_superseded": former, **as_of_field(as_of)}
        reply = await agent.call("search", query=printable(query), **fields)
    if at.output is Format.JSON:
        show_json(reply["hits"])
        return
    if not reply["hits"]:
        show("Nothing found: no fact has any of these words.")
    show_hits(reply["hits"], explain=explain, own=agent.name)
    show_note(reply)


@group.called_as("hive-mind facts show 4f1a2b3c", name="show")
async def show_fact(id_: FactId, at: AnyAgent) -> None:
    """Show all that is known about one fact, retracted ones too."""
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        fact = await fact_called(AskedFacts(agent), id_)
        episodes = (await agent.call("why", fact_id=fact.id))["said_in"]
        newer = await AskedFacts(agent).facts_with_prefix(fact.superseded_by) if fact.superseded_by else ()
    if at.output is Format.JSON:
        show_json(plain(fact) | {"episodes": [_episode_summary(episode) for episode in episodes]})
        return
    show(fact.content, style="bold")
    show_table(["", ""], [(name, value) for name, value in _details(fact, episodes, newer) if value])


def _row(fact: Fact) -> tuple[str, str, str]:
    return short_id(fact.id), fact.said_at.replace("T", " "), fact.content


def _details(fact: Fact, episodes: Sequence[Reply], newer: Sequence[Fact]) -> list[tuple[str, str]]:
    return [
        ("id", fact.id),
        ("about", fact.concept),
        ("said by", fact.speaker),
        ("said at", fact.said_at.replace("T", " ")),
        ("sources", "\n".join(map(shown_source, fact.sources))),
        ("taken from", "\n".join(episode["title"] or shown_source(episode["source"]) for episode in episodes)),
        ("just before", fact.before),
        ("names", ", ".join(fact.entities)),
        ("labels", ", ".join(fact.labels)),
        ("confidence", f"{fact.confidence:.2f}"),
        ("sharing", ": ".join(part for part in (fact.sharing.value, fact.held_back) if part)),
        ("no longer true", _end_text(fact, newer)),
        ("held until", _held_until(fact)),
    ]


def _end_text(fact: Fact, newer: Sequence[Fact]) -> str:
    if not fact.superseded_by:
        return ""
    return f"replaced by {short_id(newer[0].id)}: {newer[0].content}" if newer else "its source no longer says it"


def _held_until(fact: Fact) -> str:
    *_, before, last = (0, *fact.times_held)
    # A record of an earlier version does not say when.
    return "" if fact.is_current or before == last else f"{datetime.fromtimestamp(last / 1e6, UTC):%Y-%m-%d %H:%M}"


def _episode_summary(episode: Reply) -> dict[str, str]:
    return {name: episode[name] for name in ("id", "title", "source", "said_at")}


async def _aggregate(kind: Kind, concept: str, limit: int, at: AnyAgent) -> None:
    """Facts of the whole hive, each counted once; members that did not answer are named."""
    concept = printable(concept)
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        reply = await agent.call("aggregate", kind=kind, concept=concept, limit=limit)
    if at.output is Format.JSON:
        show_json({"about": concept, "kind": kind, **reply})
    else:
        _show(concept, reply)


def _show(about: str, reply: dict[str, Any]) -> None:
    show(counted(reply["count"], "fact") + (f" about {about}" if about else ""))
    if reply["facts"]:
        rows = [(short_id(fact["fact_id"]), fact["said_at"].replace("T", " "), fact["content"]) for fact in reply["facts"]]
        show_table(["id", "said", "fact"], rows)
    if reply["completeness"] < 1:
        silent = ", ".join(reply["silent"]) or "it"
        show(f"Only {reply['completeness']:.0%} of the hive was counted: {silent} did not answer.", "yellow")
