"""The pieces to learn, the agent that learns them, and the result of each: each piece whole before the next one starts."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hive_mind.cli.asking.asked import AnsweringAgent
from hive_mind.cli.learning import STDIN, files_of, source_of, stdin_text
from hive_mind.cli.output import ProgressPrinter, printable, say, shown_source
from hive_mind.cli.running import Stopped
from hive_mind.counted import counted
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.model.content import Content, KnownSource
from hive_mind.model.decoding import converted
from hive_mind.runtime.texts import EMPTY, Document, Unreadable
from hive_mind.runtime.texts.text_files import UNCHANGED, read_document

if TYPE_CHECKING:
    from hive_mind.api.replies import LearnedJson, LearnedLine
    from hive_mind.api.request import Progress


# At four bytes each they fit a request of one megabyte, with room for what is written in two bytes instead of one.
PART_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True)
class Learner:
    """Puts content to an agent. One in another process gets a long text in parts that fit a request."""

    agent: AnsweringAgent

    async def embed_ahead(self, contents: Sequence[Content], progress: "Progress") -> bool:
        """Embed together what is learned next: `PART_CHARACTERS` at most. False where each is embedded when its turn comes."""
        try:
            return bool((await self.agent.call("embed_ahead", progress, contents=contents))["embeds"])
        except InvalidInput:
            # A process of an earlier version has no such request.
            return False

    async def learn(self, content: Content, progress: "Progress", *, with_lines: bool = False) -> "LearnedJson":
        """Durable when this returns; what is worth sharing is with the hive soon. `progress` gets (kept, to keep)."""
        parts = parts_of(content.text) if self.agent.fleet else [content.text]
        fields: dict[str, object] = {"source": content.source, "said_at": content.said_at, "title": content.title}
        fields |= {"with_lines": True} if with_lines else {}
        replies: list[LearnedJson] = []
        for number, text in enumerate(parts):

            def report(done: int, total: int, earlier: int = number) -> None:
                progress(earlier * total + done, len(parts) * total)

            is_whole = content.is_whole and len(parts) == 1
            replies.append(await self.agent.call("learn", report, text=text, whole=is_whole, **fields))
        together = _added_up(replies) if len(replies) > 1 else replies[0]
        if content.is_whole and len(parts) > 1:
            # All parts together are the whole: none of them takes the place of another.
            episodes = [reply["episode"] for reply in replies]
            former = await self.agent.call("replace", source=content.source, episodes=episodes)
            together["former"] = former["former"]
        return together

    async def sources(self, below: str) -> Sequence[KnownSource]:
        """The sources that it learned from, of those whose name begins like this."""
        return converted((await self.agent.call("sources", query=below))["sources"], list[KnownSource])

    async def withdraw(self, source: str) -> int:
        """A source says nothing any more. How many facts it said before and says no longer."""
        return int((await self.agent.call("withdraw", source=source))["former"])


def _added_up(replies: "Sequence[LearnedJson]") -> "LearnedJson":
    """The figures of all parts of a text; `episode` and `former` are those of the first."""
    together, *rest = replies
    for reply in rest:
        together["facts"] += reply["facts"]
        together["added"] += reply["added"]
        together["confirmed"] += reply["confirmed"]
        together["skipped"] += reply["skipped"]
        together["left_out"] = dict(Counter(together["left_out"]) + Counter(reply["left_out"]))
        together["lines"] = [*together.get("lines", ()), *reply.get("lines", ())]
        together["missing"] = "; ".join(dict.fromkeys(filter(None, (together["missing"], reply["missing"]))))
    return together


def parts_of(text: str) -> list[str]:
    """A text in parts that fit a request, each of whole lines where a line is not longer than a part."""
    parts, start = list[str](), 0
    while len(text) - start > PART_CHARACTERS:
        end = text.rfind("\n", start, start + PART_CHARACTERS) + 1 or start + PART_CHARACTERS
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


# Reading so much takes a second or so.
_LARGE_CHARS = 1_000_000
# Embedded together in one request: some thousand statements, whose vectors take 1.5 KB each.
_AHEAD_FILES_MAX = 200


@dataclass(frozen=True, slots=True)
class Piece:
    """Something to learn: how it is called, its source, when it was said, and how to get its text, or why there is none.

    `read` gets a digest that is known, and may take minutes. `is_whole`: it is all that its source says now.
    """

    name: str
    source: str
    said_at: str
    read: Callable[[str], Document | Unreadable]
    is_whole: bool = False


@dataclass(slots=True)
class Tally:
    """The results so far. `is_explained`: line by line. `passed_over`: files that a folder does not give, and why.

    `withdrawn`: sources that say nothing any more.
    """

    is_explained: bool = False
    passed_over: list[dict[str, str]] = field(default_factory=list)
    learned: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    withdrawn: list[dict[str, Any]] = field(default_factory=list)
    added: int = 0
    confirmed: int = 0
    former: int = 0


def pieces_of(paths: Sequence[str], source: str, said_at: str, *, is_whole: bool | None = None) -> list[Piece]:
    """The pieces to learn. Files are read when their turn comes, standard input at once. Raises `InvalidInput`.

    `is_whole` None: a file is all that its path says; one with a source of another name is one more thing that source says.
    """
    if STDIN not in paths:
        files = files_of(paths, may_be_none=bool(is_whole))
        if is_whole and source and len(files) > 1:
            raise InvalidInput("--replace with --source is for one file: each of several would replace the one before it")
        is_all = not source if is_whole is None else is_whole
        return [piece_of(path, source or source_of(path), said_at, is_whole=is_all) for path in files]
    if len(paths) > 1:
        raise InvalidInput("- is standard input and stands alone: learn files in another call")
    text = stdin_text()
    document = text if isinstance(text, Unreadable) else Document(text)
    return [Piece(STDIN, printable(source) or "stdin", said_at, lambda _: document, bool(is_whole))]


def piece_of(path: Path, source: str, said_at: str = "", *, is_whole: bool = True) -> Piece:
    # A file's name may hold bytes that are no text; what is kept and shown is text.
    return Piece(printable(str(path)), printable(source), said_at, partial(read_document, path), is_whole)


async def learn_all(learner: Learner, pieces: Sequence[Piece], tally: Tally, report: ProgressPrinter) -> None:
    """Learn one piece after the other. Raises `Stopped`, saying how far it came, when it is cancelled."""
    far = ""

    def show(done: int, total: int) -> None:
        nonlocal far
        percent = 100 * done // max(total, 1)
        far = f"{percent} % of {shown_source(piece.name)}" if percent else ""
        report(number + done / max(total, 1), len(pieces), f"{shown_source(piece.name)} {percent:2} %")

    number = 0
    try:
        while number < len(pieces):
            for piece, document in await _read_ahead(learner, pieces[number:], partial(report, number, len(pieces))):
                report(number, len(pieces), shown_source(piece.name))
                await _learn_read(learner, piece, document, tally, show)
                far = ""
                number += 1
                # A place to stop, also for what needs no waiting.
                await asyncio.sleep(0)
    except HiveError:
        if len(pieces) > 1:
            file = shown_source(pieces[number].name)
            say(f"failed at {file}; {len(tally.learned)} of {len(pieces)} files learned before it are kept")
        raise
    except asyncio.CancelledError:
        learned_count, part = len(tally.learned), f" and {far}" if far else ""
        sentence = f"{learned_count} of {counted(len(pieces), 'file')}{part} learned"
        raise Stopped(f"stopped; {sentence}, nothing lost: run it again to go on") from None


async def _read_ahead(
    learner: Learner, pieces: Sequence[Piece], report: Callable[[str], None]
) -> list[tuple[Piece, Document | Unreadable]]:
    """The first of the pieces with their texts, embedded together; one alone where nothing is embedded here."""
    reads_ahead = len(pieces) > 1 and await learner.embed_ahead([], lambda *_: None)
    read: list[tuple[Piece, Document | Unreadable]] = []
    contents, characters = list[Content](), 0
    for piece in pieces[: _AHEAD_FILES_MAX if reads_ahead else 1]:
        report(shown_source(piece.name))
        document = await asyncio.to_thread(piece.read, "")
        read.append((piece, document))
        characters += len(document.text) if isinstance(document, Document) else 0
        if characters > PART_CHARACTERS:
            break
        if isinstance(document, Document):
            contents.append(_content_of(piece, document.text))
    if len(contents) > 1:
        await learner.embed_ahead(
            contents, lambda done, total: report(f"embedding {counted(len(read), 'file')} {100 * done // total:2} %")
        )
    return read


async def learn_one(learner: Learner, piece: Piece, tally: Tally, show: "Progress", known: str = "") -> str:
    """Learn a piece, unless its digest is the `known` one. Its digest, "" where it has none."""
    document = await asyncio.to_thread(piece.read, known)
    return known if document is UNCHANGED else await _learn_read(learner, piece, document, tally, show)


async def _learn_read(learner: Learner, piece: Piece, document: Document | Unreadable, tally: Tally, show: "Progress") -> str:
    if isinstance(document, Unreadable):
        # Name a file that can't be read: what it said before stays. One that is empty says nothing any more.
        tally.skipped.append({"file": piece.name, "reason": document.reason})
        say(f"skipped: {shown_source(piece.name)} {document.reason}", style="yellow")
        if document is EMPTY and piece.is_whole:
            await withdraw(learner, piece.source, tally)
        return ""
    text = document.text
    if lost := text.count("\N{REPLACEMENT CHARACTER}"):
        say(f"note: {shown_source(piece.name)}: {lost} characters are not UTF-8 and are lost; save it as UTF-8", "yellow")
    if len(text) >= _LARGE_CHARS:
        # Read whole before the first of it is stored: nothing moves for some seconds.
        say(f"{shown_source(piece.name)}: reading {len(text) / 1e6:.1f} million characters", style="dim")
    reply = await learner.learn(_content_of(piece, text), show, with_lines=tally.is_explained)
    if reply["missing"]:
        say(f"note: {shown_source(piece.name)}: {reply['missing']}; its facts are kept", "yellow")
    left_out = dict(Counter(reply["left_out"]) + Counter(document.left_out))
    digest = document.digest if piece.is_whole else ""
    await learner.agent.call("note", source=piece.source, digest=digest, left_out=left_out)
    tally.added += reply["added"]
    tally.confirmed += reply["confirmed"]
    tally.former += reply["former"]
    tally.learned.append(
        {
            "file": piece.name,
            "source": piece.source,
            "facts": len(reply["facts"]),
            "added": reply["added"],
            "confirmed": reply["confirmed"],
            "unsure": reply["skipped"],
            "missing": reply["missing"],
            "former": reply["former"],
            "left_out": left_out,
        }
        | ({"lines": [_shown(line) for line in reply.get("lines", ())]} if tally.is_explained else {})
    )
    return document.digest


async def withdraw(learner: Learner, source: str, tally: Tally) -> None:
    if former := await learner.withdraw(source):
        tally.former += former
        tally.withdrawn.append({"source": source, "former": former})
        say(f"{shown_source(source)} says nothing any more: {counted(former, 'fact is', 'facts are')} former")


def _content_of(piece: Piece, text: str) -> Content:
    title = "" if piece.name == STDIN else Path(piece.name).stem
    return Content(text, piece.source, piece.said_at, title=title, is_whole=piece.is_whole)


def _shown(line: "LearnedLine") -> dict[str, str]:
    return {"what": f"left out ({line['left_out']})" if line["left_out"] else "kept", "text": line["text"]}
