"""How the answer of a fleet's agent looks: as that of any agent, and besides which node of the hive holds what it rests on."""

from collections.abc import Mapping, Sequence
from typing import Any

from hive_mind.cli.options import Format
from hive_mind.cli.output import short_id, show, show_indented, show_json, show_prose, shown_source
from hive_mind.counted import counted
from hive_mind.model.quotations import quotations

Reply = Mapping[str, Any]


def show_reply(question: str, asked: Mapping[str, str], reply: Reply, output: Format) -> None:
    """The answer; `asked` says which agent of which fleet gave it."""
    if output is Format.JSON:
        told = {key: value for key, value in reply.items() if key != "answer"}
        show_json({"question": question, **asked, "text": reply["answer"], **told})
        return
    sources: Sequence[Reply] = reply["sources"]
    first, quotes = quotations(str(reply["answer"]), [str(hit["content"]) for hit in sources])
    if quotes:
        show(first)
        _show_numbered(quotes, sources)
    else:
        show_prose(str(reply["answer"]))
        if sources:
            show("\nSources", style="bold")
            _show_numbered([_told(hit) for hit in sources], sources)
    if closest := reply.get("closest"):
        show("The closest facts are:")
        _show_numbered([_told(hit) for hit in closest], closest)
    if reply["completeness"] < 1:
        show(f"Only {reply['completeness']:.0%} of the hive was reached; {', '.join(reply['silent'])} stayed silent.", "yellow")


def _show_numbered(texts: Sequence[str], hits: Sequence[Reply]) -> None:
    for number, (text, hit) in enumerate(zip(texts, hits, strict=False), start=1):
        show_indented(text, lead=f"{number:>3}.")
        show_indented(_provenance(hit), style="dim")


def _told(hit: Reply) -> str:
    former = hit.get("former", "")
    return f"{hit['content']} ({former})" if former else str(hit["content"])


def _provenance(hit: Reply) -> str:
    first, *others = hit["sources"] or ("",)
    parts = [shown_source(first), f"confirmed by {len(others)} more" if others else ""]
    authors, others = hit["from"][:1], hit["from"][1:]
    parts += [f"from {authors[0]}" + (f" and {counted(len(others), 'other')}" if others else "") if authors else ""]
    parts += [f"trusted {hit['trust']:.1f} of 1" if hit["trust"] < 1 else ""]
    parts += [
        f"held by {hit['held_by']}" if hit["held_by"] else "",
        f"score {hit['score']:.2f}",
        f"id {short_id(hit['fact_id'])}",
    ]
    return " · ".join(part for part in parts if part)
