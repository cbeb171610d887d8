"""`hive-mind ask` where the resident process has the memory open: put to it before the command line is loaded.

The answer takes some tens of milliseconds; loading what reads any command takes several times that. Anything but such a
question, and every failure, is left to the command itself, which asks anew and says what is the matter. How an answer and the
facts it rests on look stands here, too: whichever process has the memory open.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise, repeat
from pathlib import Path
from typing import Any, NoReturn

from hive_mind import __version__
from hive_mind.cli.output import (
    printable,
    say,
    short_id,
    show,
    show_indented,
    show_json,
    show_prose,
    shown_source,
    spell_out_unknown_characters,
)
from hive_mind.counted import counted
from hive_mind.errors import HiveError
from hive_mind.model.fact import FORGOTTEN, fact_of
from hive_mind.model.query import LIMIT
from hive_mind.runtime.settings import ANSWERING_GIVEN, Settings, settings_given
from hive_mind.runtime.worker_http import body_within, request_bytes, waiting_line

# As `cli.running` has it, which is not loaded.
_FAILED = 1
_OPTIONS = {"--agent": "agent", "-a": "agent", "--home": "home", "--limit": "limit", "-n": "limit", "--method": "method"}
_OPTIONS |= {"--output": "output", "-o": "output", "--as-of": "as_of"}
# Any other number or name is the command's to refuse.
_NUMBER, _NAME = re.compile(r"[1-9][0-9]{0,2}"), re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ONE_OF = {"output": ("text", "json"), "method": ("hybrid", "keyword", "vector")}
_AGENT, _FLEET = "default", "resident"


def asked_and_answered(arguments: Sequence[str]) -> bool:
    """Whether this was such a question, and its answer is printed."""
    if (options := _given(arguments)) is None or (reply := _reply(options)) is None:
        return False
    agent = options.get("agent") or _AGENT
    request = {"question": options["question"], "fleet": _FLEET, "agent": agent}
    try:
        spell_out_unknown_characters()
        say(f"using agent {agent} of fleet {_FLEET}", style="dim")
        show_reply(request, reply, is_json=options.get("output") == "json", explain="explain" in options)
        sys.stdout.flush()
    except OSError:
        # No reader, or no room: the command says so.
        return False
    return True


def _given(arguments: Sequence[str]) -> dict[str, str] | None:
    """A question with its options; None for anything that is not as simple as that."""
    if arguments[:1] != ["ask"]:
        return None
    options, words = dict[str, str](), iter(arguments[1:])
    for word in words:
        option, is_joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "--explain":
            options["explain"] = word
        elif option in _OPTIONS:
            if not (value := value if is_joined else next(words, "")):
                return None
            options[_OPTIONS[option]] = value
        elif word.startswith("-") or "question" in options:
            return None
        else:
            options["question"] = word
    is_plain = all(options.get(name, values[0]) in values for name, values in _ONE_OF.items())
    return options if is_plain and options.get("question", "").strip() else None


def _reply(options: dict[str, str]) -> Any:
    """The answer of the one process of the only fleet, the resident; None where the whole command line has to look at it."""
    limit, agent = options.get("limit", str(LIMIT)), options.get("agent") or _AGENT
    if not _NUMBER.fullmatch(limit) or not _NAME.fullmatch(agent):
        return None
    try:
        settings = Settings.from_environment()
        home = Path(options["home"]) if options.get("home") else settings.home
        if [folder.name for folder in (home / "fleets").iterdir() if folder.is_dir()] != [_FLEET]:
            return None
        (file,) = (home / "fleets" / _FLEET / "run").glob("*.json")
        contact = json.loads(file.read_bytes())
        answering = contact.get("answering")
        # Another version may not understand it; of one that answers otherwise than the variable says, the command line tells.
        if contact.get("version") != __version__ or settings_given().get(ANSWERING_GIVEN, answering) != answering:
            return None
        request = {"question": printable(options["question"]), "limit": int(limit), "method": options.get("method", "hybrid")}
        request |= {"as_of": options["as_of"]} if "as_of" in options else {}

        def on_beat(waited_s: float) -> None:
            say(waiting_line(_FLEET, waited_s), style="dim")

        sent = request_bytes("POST", f"/v1/agents/{agent}/ask", contact["token"], json.dumps(request).encode())
        try:
            reply = json.loads(body_within(int(contact["port"]), sent, settings.timeout_s, on_beat))
        except TimeoutError:
            _give_up(contact, settings.timeout_s)
        return reply["ok"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, HiveError):
        return None


def _give_up(contact: Any, timeout_s: float) -> NoReturn:
    """The command itself would only wait for the same process again."""
    from hive_mind.runtime.asking import silence
    from hive_mind.runtime.workers import Contact

    process = Contact(
        str(contact.get("process", _FLEET)), int(contact.get("pid", 0)), float(contact.get("started", 0)), 0, "", ""
    )
    say(f"error: {silence(process, timeout_s)}", style="red")
    sys.exit(_FAILED)


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
