"""`hive-mind ask`: an answer with its sources, or an honest "I don't know", which is a success like any other."""

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Annotated, cast

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.reply_shown import show_reply
from hive_mind.cli.fleet.agents import Agent, Fleet, fleet_agent
from hive_mind.cli.options import DEFAULT_AGENT, Format, SearchMethod, examples, for_reading, settings_for
from hive_mind.cli.output import plain, printable, say, short_id, show, show_indented, show_json, show_prose, shown_source
from hive_mind.cli.ranking_files import ConfigFile, ways_of
from hive_mind.cli.running import command
from hive_mind.memory.disputes import dispute_told
from hive_mind.memory.editions.former import former_told
from hive_mind.model.answer import Answer, quotations
from hive_mind.model.fact import FORGOTTEN, Fact
from hive_mind.model.query import LIMIT, Hit, Method
from hive_mind.runtime.wiring import open_agent

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
    settings, ways = settings_for(home, embed, model), ways_of(context, config, method.value, limit)
    async with fleet_agent(settings.home, fleet, agent) as running:
        if running is not None:
            if explain:
                say("note: an agent of a fleet tells its scores, not what they are made of", style="yellow")
            if ways.ranking:
                say("note: an agent of a fleet ranks as its manifest says: of --config it takes method and top_k", style="yellow")
            reply = await running.call("ask", question=printable(question), limit=ways.limit, method=ways.method)
            show_reply(printable(question), {"fleet": running.fleet, "agent": running.name}, reply, output)
            return
    agent = agent or DEFAULT_AGENT
    async with await open_agent(for_reading(settings, agent), agent, ways.ranking) as answerer:
        answer = await answerer.answer_question(printable(question), ways.limit, cast(Method, ways.method))
    if output is Format.JSON:
        show_json({"question": printable(question)} | plain(answer) | {"is_known": answer.is_known})
        return
    show_answer(answer, explain=explain)


def show_answer(answer: Answer, *, explain: bool = False) -> None:
    """The answer, then the facts it rests on, numbered; of quotations each with its own source below it."""
    first, quotes = quotations(answer.text, [hit.fact.content for hit in answer.sources])
    if answer.method == "quoted" and quotes:
        show(first)
        _show_numbered(quotes, answer.sources, explain=explain)
        return
    show_prose(answer.text)
    if answer.sources:
        show("\nSources", style="bold")
        show_hits(answer.sources, explain=explain)
    if answer.closest:
        show("The closest facts are:")
        show_hits(answer.closest, explain=explain)


def show_hits(hits: Sequence[Hit], *, explain: bool = False) -> None:
    """Found facts, numbered: text, then who said it and when."""
    _show_numbered([_told(hit) for hit in hits], hits, explain=explain, disputes=[dispute_told(hit) for hit in hits])


def _show_numbered(texts: Sequence[str], hits: Sequence[Hit], *, explain: bool, disputes: Sequence[str] = ()) -> None:
    for number, (text, hit, dispute) in enumerate(zip(texts, hits, chain(disputes, repeat("")), strict=False), start=1):
        show_indented(text, lead=f"{number:>3}.")
        if dispute:
            show_indented(dispute, style="yellow")
        show_indented(provenance(hit), style="dim")
        if explain:
            show_indented(explanation(hit), style="cyan")


def _told(hit: Hit) -> str:
    fact = hit.fact
    former = former_told(fact)
    return fact.content + (f" — {fact.said_at.replace('T', ' ')}" if fact.said_at else "") + (f" ({former})" if former else "")


def provenance(hit: Hit) -> str:
    """Which file or person vouches for it, its score and its id."""
    fact = hit.fact
    gone = ["forgotten by the hive"] if fact.held_back == FORGOTTEN else []
    return " · ".join((*_sources(fact.sources), *gone, f"score {hit.score:.2f}", f"id {short_id(fact.id)}"))


def explanation(hit: Hit) -> str:
    """The raw figure of each arm, what each added to the score, and what can't be true beside it."""
    raw, added = hit.components, hit.contributions
    semantic = "none" if raw.semantic is None else f"{raw.semantic:.3f}"
    return (
        f"raw: keyword (BM25) {raw.keyword:.2f}, cosine {semantic}, identifiers named {raw.exact:.2f}, "
        f"confirmed {raw.confirmations:.2f}, trust {raw.trust:.2f}\n"
        f"adds: keyword {added.keyword:.3f} + semantic {added.semantic:.3f} + evidence {added.evidence:.3f} "
        f"+ exact {added.exact:.3f} = {hit.score:.3f}" + "".join(map(_rival, hit.rivals))
    )


def _rival(fact: Fact) -> str:
    return f"\ndisputed by: {fact.content} ({' · '.join((*_sources(fact.sources), f'id {short_id(fact.id)}'))})"


def _sources(sources: Sequence[str]) -> list[str]:
    first, *others = sources
    return [shown_source(first), *([f"confirmed by {len(others)} more"] if others else [])]
