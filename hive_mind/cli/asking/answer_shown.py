"""How an answer and the facts it rests on look, of an agent whose memory this process has open."""

from collections.abc import Sequence
from itertools import chain, repeat

from hive_mind.cli.output import short_id, show, show_indented, show_prose, shown_source
from hive_mind.memory.disputes import dispute_told
from hive_mind.memory.editions.former import former_told
from hive_mind.model.answer import Answer
from hive_mind.model.fact import FORGOTTEN, Fact
from hive_mind.model.query import Hit
from hive_mind.model.quotations import quotations


def show_answer(answer: Answer, *, explain: bool = False) -> None:
    """The answer, then the facts it rests on, numbered; of quotations each with its own source below it."""
    first, quotes = quotations(answer.text, [hit.fact.content for hit in answer.sources])
    if answer.method in ("quoted", "collected") and quotes:
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
