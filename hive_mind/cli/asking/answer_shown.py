"""How an answer and the facts it rests on look, as `runtime.replies` tells them: whichever process has the memory open."""

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise, repeat
from typing import Any

from hive_mind.cli.output import printable, short_id, show, show_indented, show_json, show_prose, shown_source
from hive_mind.counted import counted
from hive_mind.model.fact import FORGOTTEN, fact_of

Reply = Mapping[str, Any]


def show_reply(request: Mapping[str, str], reply: Reply, *, is_json: bool, explain: bool = False) -> None:
    """The answer as text or as JSON. `asked` says question, fleet and agent."""
    if not is_json:
        show_answer(reply, explain=explain, own=request["agent"])
        return
    rest = {name: value for name, value in reply.items() if name != "answer"}
    show_json({**request, "question": printable(request["question"]), "text": reply["answer"], **rest})


def show_answer(answer: Reply, *, explain: bool = False, own: str = "") -> None:
    """The answer, then the facts it rests on, numbered; of quotations each with its own source below it.

    `own`: the agent that answers. It is not named for a fact that only it said.
    """
    hits: Sequence[Reply] = answer["sources"]
    first, quotes = _quotations(str(answer["answer"]), [str(hit["content"]) for hit in hits])
    if quotes:
        show(first)
        _show_numbered(quotes, hits, explain=explain, own=own)
    else:
        show_prose(str(answer["answer"]))
        if hits:
            show("\nSources", style="bold")
            show_hits(hits, explain=explain, own=own)
        if closest := answer["closest"]:
            show("The closest facts are:")
            show_hits(closest, explain=explain, own=own)
    show_note(answer)
    if answer["completeness"] < 1 and answer["silent"]:
        show(f"Only {answer['completeness']:.0%} of the hive was reached; {', '.join(answer['silent'])} stayed silent.", "yellow")


def show_note(reply: Reply) -> None:
    """Show the parts of the ranking that were not available. A process of an earlier version says nothing of it."""
    if note := reply.get("note"):
        show(f"note: {note}", "yellow")


def show_hits(hits: Sequence[Reply], *, explain: bool = False, own: str = "") -> None:
    """Found facts, numbered: text, then who said it and when."""
    _show_numbered([_text(hit) for hit in hits], hits, explain=explain, own=own, disputes=[hit["disputed"] for hit in hits])


def _show_numbered(texts: Sequence[str], hits: Sequence[Reply], *, explain: bool, own: str, disputes: Sequence[str] = ()) -> None:
    for number, (text, hit, dispute) in enumerate(zip(texts, hits, chain(disputes, repeat("")), strict=False), start=1):
        show_indented(text, lead=f"{number:>3}.")
        if dispute:
            show_indented(dispute, style="yellow")
        show_indented(provenance(hit, own), style="dim")
        if explain:
            show_indented(explanation(hit), style="cyan")


def _text(hit: Reply) -> str:
    said_at = f" — {hit['said_at'].replace('T', ' ')}" if hit["said_at"] else ""
    return f"{hit['content']}{said_at}" + (f" ({hit['former']})" if hit["former"] else "")


def provenance(hit: Reply, own: str = "") -> str:
    """The file or person that vouches for it, the agent that shared it in the hive, its score and its id."""
    authors = [] if hit["from"] == [own] else hit["from"]
    parts = [
        *_sources(fact_of(hit).roots),
        "forgotten by the hive" if hit["held_back"] == FORGOTTEN else "",
        f"from {_authors(*authors)}" if authors else "",
        f"trusted {hit['trust']:.1f} of 1" if hit["trust"] < 1 else "",
        f"held by {hit['held_by']}" if hit["held_by"] else "",
        f"score {hit['score']:.2f}",
        f"id {short_id(hit['fact_id'])}",
    ]
    return " · ".join(part for part in parts if part)


def _authors(first: str, *coauthors: str) -> str:
    return f"{first} and {counted(len(coauthors), 'other')}" if coauthors else first


def explanation(hit: Reply) -> str:
    """The raw figure of each arm, what each added to the score, and what can't be true beside it."""
    raw, added = hit["components"], hit["contributions"]
    semantic = "none" if raw["semantic"] is None else f"{raw['semantic']:.3f}"
    return (
        f"raw: keyword (BM25) {raw['keyword']:.2f}, cosine {semantic}, identifiers named {raw['exact']:.2f}, "
        f"confirmed {raw['confirmations']:.2f}, trust {raw['trust']:.2f}\n"
        f"adds: keyword {added['keyword']:.3f} + semantic {added['semantic']:.3f} + others {added['others']:.3f} "
        f"+ evidence {added['evidence']:.3f} + exact {added['exact']:.3f} + reranked {added.get('reranked', 0.0):.3f} "
        f"= {hit['score']:.3f}" + "".join(map(_rival, hit["rivals"]))
    )


def _rival(fact: Reply) -> str:
    parts = (*_sources(fact_of(fact).roots), f"id {short_id(fact['fact_id'])}")
    return f"\ndisputed by: {fact['content']} ({' · '.join(parts)})"


def _sources(sources: Sequence[str]) -> list[str]:
    first, *confirming = sources or ("",)
    return [shown_source(first), *([f"confirmed by {len(confirming)} more"] if confirming else [])]


def _quotations(text: str, contents: Sequence[str]) -> tuple[str, list[str]]:
    """A quoted answer's first line, and the quotation of each source with what is said of it; none where it quotes otherwise."""
    starts: list[int] = []
    for content in contents:
        at = text.find(f"\n“{content}”", starts[-1] if starts else 0)
        if at < 0:
            return text, []
        starts.append(at + 1)
    return text[: starts[0] - 1] if starts else text, [text[a:b].rstrip("\n") for a, b in pairwise([*starts, len(text)])]
