"""`hive-mind facts`: look at what an agent knows, take facts back, supersede, export and import them."""

import asyncio
import sys
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import (
    AnsweringAgent,
    AnyAgent,
    AnyEmbeddingAgent,
    AskedFacts,
    FactId,
    asked_agent,
    refuse_kept_open,
)
from hive_mind.cli.asking.quick_ask import Reply, show_hits, show_note
from hive_mind.cli.learning import STDIN, FileLines, lines_of, refuse_replacing, source_of
from hive_mind.cli.options import (
    Format,
    Group,
    SearchMethod,
    as_of_field,
    examples,
    for_copying,
    is_confirmed,
    refuse_ineffective,
    settings_for,
)
from hive_mind.cli.output import (
    ProgressPrinter,
    plain,
    printable,
    progress,
    say_cut,
    short_id,
    show,
    show_json,
    show_result,
    show_table,
    shown_source,
)
from hive_mind.cli.running import CommandError, cut_short
from hive_mind.control import RESIDENT
from hive_mind.counted import counted
from hive_mind.errors import BackendError, InvalidInput, reason_of
from hive_mind.memory.fact_called import fact_called
from hive_mind.model.aggregation import Kind
from hive_mind.model.bounds import BOUNDS, OF_A_LIST
from hive_mind.model.content import SOURCE
from hive_mind.model.fact import Fact, Sharing
from hive_mind.model.query import LIMIT
from hive_mind.runtime.settings import Settings
from hive_mind.safe_files import replacing

if TYPE_CHECKING:
    from hive_mind.memory.transfer.importing import Imported, Unindexed
    from hive_mind.store import FactStore


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
    retracted = replace(fact, sharing=Sharing(reply["sharing"]))
    show_result(output, retracted, f"Retracted {short_id(fact.id)}: {fact.content}")


async def _retract_source(agent: AnsweringAgent, source: str, yes: bool, output: Format) -> None:
    counts = {row["source"]: row["facts"] for row in (await agent.call("sources", query=""))["sources"]}
    # By its name, or by the path of its file.
    names = (printable(source), source_of(Path(printable(source))))
    if (name := next((name for name in names if name in counts), None)) is None:
        raise InvalidInput(f"nothing was learned from {names[0]!r}: `hive-mind sources` lists what was")
    if not yes and not is_confirmed("retract", f"Retract {counted(counts[name], 'fact')} of {shown_source(name)}?"):
        show("Kept.")
        return
    former = (await agent.call("withdraw", source=name))["former"]
    sentence = f"{shown_source(name)}: {counted(former, 'fact is', 'facts are')} no longer said"
    show_result(output, {"source": name, "former": former}, sentence)


@former.called_as('hive-mind facts supersede 4f1a2b3c --by "The ferry leaves at ten."')
async def supersede(id_: FactId, by: By, source: SaidBy = SOURCE, *, at: AnyAgent) -> None:
    """Replace a fact by what holds now; the old one becomes former."""
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        former_id = (await fact_called(AskedFacts(agent), id_)).id
        newer_id = (await agent.call("correct", fact_id=former_id, content=printable(by), source=source))["fact_id"]
    sentence = f"{short_id(former_id)} is former; {short_id(newer_id)} holds: {by}"
    show_result(at.output, {"id": newer_id, "replaces": former_id}, sentence)


_LISTED = 20


group = Group(
    name="facts",
    help="Look at single facts: list, search, show, retract, supersede, export, import.",
    no_args_is_help=True,
    epilog=examples('hive-mind facts search "cooling pump"', "hive-mind facts show 4f1a2b3c"),
)


@group.called_as(
    "hive-mind facts list",
    'hive-mind facts list --concept "Pump D4" -n 50',
    "hive-mind facts list --concept D4 --count",
    name="list",
)
async def list_facts(
    concept: Annotated[str, typer.Option(help="Only facts about this: part of their concept, or a name they mention.")] = "",
    count: Annotated[bool, typer.Option("--count", help="Count them.")] = False,
    latest: Annotated[bool, typer.Option("--latest", help="Count them, and show the latest, by when they were said.")] = False,
    earliest: Annotated[bool, typer.Option("--earliest", help="Count them, and show the earliest.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            "-n",
            min=OF_A_LIST.least,
            max=OF_A_LIST.most,
            help="At most this many; 0: all.",
            show_default=f"{_LISTED}, or 1 with --latest and --earliest",
        ),
    ] = None,
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
        # Without a hive around it, it can be asked for what it holds, and no more.
        is_alone = agent.fleet in ("", RESIDENT)
        total = (await AskedFacts(agent).statistics()).facts if len(facts) == limit and is_alone else 0
    if at.output is Format.JSON:
        show_json(plain(facts))
    elif not facts:
        show(f"No fact about {concept!r}." if concept else "No facts yet.")
    else:
        show_table(["id", "said", "fact"], [_row(fact) for fact in facts])
    if facts and len(facts) == limit != total:
        say_cut(limit, "fact", 0 if concept else total)


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
    async with asked_agent(at.settings(), at.fleet, at.agent, opening=at.opening()) as agent:
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
        summaries = [{name: episode[name] for name in ("id", "title", "source", "said_at")} for episode in episodes]
        show_json(plain(fact) | {"episodes": summaries})
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
        ("taken from", "\n".join(shown_source(episode["title"] or episode["source"]) for episode in episodes)),
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


async def _aggregate(kind: Kind, concept: str, limit: int, at: AnyAgent) -> None:
    """Facts of the whole hive, each counted once; members that did not answer are named."""
    concept = printable(concept)
    async with asked_agent(at.settings(), at.fleet, at.agent) as agent:
        reply = await agent.call("aggregate", kind=kind, concept=concept, limit=limit)
    show_result(at.output, {"about": concept, "kind": kind, **reply}, lambda: _show(concept, reply))


def _show(about: str, reply: dict[str, Any]) -> None:
    show(counted(reply["count"], "fact") + (f" about {about}" if about else ""))
    if reply["facts"]:
        rows = [(short_id(fact["fact_id"]), fact["said_at"].replace("T", " "), fact["content"]) for fact in reply["facts"]]
        show_table(["id", "said", "fact"], rows)
    if reply["completeness"] < 1:
        silent = ", ".join(reply["silent"]) or "it"
        show(f"Only {reply['completeness']:.0%} of the hive was counted: {silent} did not answer.", "yellow")


Target = Annotated[str, typer.Argument(metavar="FILE", help="Where to write; - for standard output.")]
Origin = Annotated[str, typer.Argument(metavar="FILE", help="The file that `export` wrote; - for standard input.")]


transfer = Group()


@transfer.called_as("hive-mind facts export memory.jsonl", "hive-mind facts export | gzip > m.gz")
async def export(file: Target = STDIN, force: options.Force = False, *, at: options.OwnAgent) -> None:
    """Write everything as JSON Lines.

    The texts that were learned, word for word, their facts with sources, and the links between them.
    """
    if file == STDIN and at.output is Format.JSON:
        raise InvalidInput(
            "standard output is taken by the export, which is JSON Lines already: name a FILE, or leave --output away"
        )
    if file != STDIN:
        refuse_replacing(Path(file), force=force)
    from hive_mind.runtime.copies import note_copy
    from hive_mind.runtime.wiring import opened_store

    settings = for_copying(settings_for(at.home), at.agent)
    if file != STDIN and settings.store != "memory":
        note_copy(settings.home, Path(file), "facts", at.agent)
    async with opened_store(settings, at.agent, is_reading=True) as store:
        export = _Export(store)
        if file == STDIN:
            async for line in export.lines():
                sys.stdout.buffer.write(line.encode() + b"\n")
            sys.stdout.buffer.flush()
            return
        lines = await _to_file(export.lines(), Path(file))
    sentence = f"{file}: {counted(export.facts, 'fact')} ({counted(lines, 'line')})"
    show_result(at.output, {"file": file, "facts": export.facts, "lines": lines}, sentence)


@transfer.called_as("hive-mind facts import memory.jsonl --agent copy", name="import")
def import_(file: Origin, at: options.EmbeddingAgent) -> Coroutine[Any, Any, None]:
    """Take in what `export` wrote.

    All of it, or nothing when a line is bad. Facts that are known already gain the sources of the file; nothing is forgotten.
    If it is interrupted, the next call goes on where it stopped.
    """
    return _import(file, lines_of(file), at.settings(), at.agent, at.output)


async def _import(file: str, lines: FileLines, settings: Settings, agent: str, output: Format) -> None:
    from hive_mind.runtime.wiring import unindexed

    with lines, progress("lines") as report:
        refuse_kept_open(settings, agent)
        async with unindexed(settings, agent) as target:
            try:
                imported = await _taken_in(target, lines, report)
            except InvalidInput as error:
                # The fault is in the file and not in the call.
                raise CommandError(f"{file}: {error}") from error
    if not imported.lines:
        raise CommandError(f"{file}: is empty; give a file that `facts export` wrote")
    earlier = f" (the first {counted(imported.skipped_lines, 'line')} were taken in before)" if imported.skipped_lines else ""
    figures = {name: getattr(imported, name) for name in ("facts", "added", "skipped_lines")}
    sentence = f"{file}: {counted(imported.facts, 'fact')}, {imported.added:,} of them new to agent {agent!r}{earlier}"
    show_result(output, {"file": file, "agent": agent, **figures}, sentence)


async def _taken_in(target: "Unindexed", lines: FileLines, report: ProgressPrinter) -> "Imported":
    """Raises `Stopped` when it is cancelled, and `BackendError`; says how far it came."""
    from hive_mind.memory.transfer.importing import BATCH_EMBEDDED, BATCH_RECORDS, import_all

    reached = 0, 0

    def show(done: int, total: int, what: str) -> None:
        nonlocal reached
        reached = (done, total) if total else reached
        report(done, total, what)

    batch = BATCH_EMBEDDED if target.embeds else BATCH_RECORDS
    try:
        return await import_all(lines, target.keep, target.meta, batch_records=batch, progress=show)
    except (asyncio.CancelledError, BackendError) as error:
        line, total = reached
        far = f"{line:,} of {counted(total, 'line')} are kept" if line else "nothing was imported yet"
        raise cut_short(error, f"{far}: import the same again to go on") from None


class _Export:
    """The lines of a database, and how many current facts there were."""

    def __init__(self, store: "FactStore") -> None:
        self._store, self.facts = store, 0

    def lines(self) -> AsyncIterator[str]:
        from hive_mind.memory.transfer import write_records

        return write_records(self._store, self._counted())

    async def _counted(self) -> AsyncIterator[Sequence[Fact]]:
        async for facts in self._store.facts():
            self.facts += sum(fact.is_current for fact in facts)
            yield facts


async def _to_file(lines: AsyncIterator[str], path: Path) -> int:
    """Written beside it first, so that an interruption leaves no half a file under the name. Returns the lines."""
    count = 0
    try:
        with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="\n") as file:
            async for line in lines:
                file.write(line + "\n")
                count += 1
    except OSError as error:
        raise CommandError(f"{path}: can't be written ({reason_of(error)}); give another name") from error
    return count


group.add_typer(transfer)
group.add_typer(former)
