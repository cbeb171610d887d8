"""A data set read without saying which format it is in: file names tell and, where they don't, their content. Two of them are
read here.

BEIR's folders (Thakur et al. 2021) are `corpus.jsonl`, `queries.jsonl`, and a part of the questions judged in `qrels/PART.tsv`. A
document's title and text are one text, because that is what is searched. Questions of other parts are not left out: they belong
to another measurement.

An agent's memory: its facts are the documents, and a question file gives the questions. Where the agent runs it is asked for
them, and in a hive they are those of all of it; else its record is read. A document's id is its fact's, so the ids that
`hive-mind facts` shows are those a question file names. Learned again, a document becomes the same fact.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Annotated, Any, Protocol

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import (
    Corpus,
    Dataset,
    Document,
    LabelledQuestion,
    LeftOut,
    Scope,
    in_words,
    one_of,
    read_bytes,
    read_lines,
    read_text,
    says_something,
)
from hive_mind.evals.datasets.conversations import load_locomo, load_longmemeval
from hive_mind.evals.datasets.jsonl import CORPUS_SUFFIX, load_jsonl
from hive_mind.memory.intake import STATEMENT_CHARACTERS_MAX
from hive_mind.memory.transfer import read_records
from hive_mind.model.fact import NAME_CHARACTERS_MAX, Fact, fact_of
from hive_mind.model.ids import canonical
from hive_mind.regex import regex
from hive_mind.runtime.settings import Settings, is_kept
from hive_mind.runtime.wiring import opened_store

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
_USUAL_PART = "test"


class _CorpusLine(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1)] = msgspec.field(name="_id")
    text: str
    title: str = ""
    metadata: dict[str, Any] = {}


class _QueryLine(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1)] = msgspec.field(name="_id")
    text: str


def load_beir(folder: Path, part: str = "") -> Dataset:
    """One part of a set, as one scope; without a name "test", or the only part there is. Raises `InvalidInput`."""
    names = sorted(path.stem for path in (folder / QRELS).glob("*.tsv"))
    if not names:
        raise InvalidInput(f"{folder}: holds no {QRELS}/PART.tsv; add the judgements, as {QRELS}/{_USUAL_PART}.tsv")
    preferred = part or (_USUAL_PART if _USUAL_PART in names else "")
    qrels = folder / QRELS / f"{one_of(folder, names, preferred, 'part')}.tsv"
    name, corpus = folder.resolve().name, Corpus()
    for _, line in read_lines(folder / CORPUS, _CorpusLine):
        meta = {key: in_words(value) for key, value in line.metadata.items()}
        corpus.take(Document(line.id, titled(line.title, line.text), f"{name}/{line.id}", meta=meta))
    left_out = Counter({LeftOut.SILENT_DOCUMENT: len(corpus.silent)})
    questions = tuple(_questions(folder, qrels, corpus, left_out))
    return Dataset(name, (Scope(name, tuple(corpus.documents.values()), questions),), dict(+left_out))


def titled(title: str, text: str) -> str:
    """Title and text as one text. A title without an end would run into the first sentence."""
    title, text = title.strip(), text.strip()
    if not title or not text:
        return title or text
    return f"{title} {text}" if title.endswith((".", "!", "?", ":")) else f"{title}. {text}"


def _questions(folder: Path, qrels: Path, corpus: Corpus, left_out: Counter[str]) -> Iterator[LabelledQuestion]:
    judgements = read_qrels(qrels)
    question_ids: set[str] = set()
    for _, line in read_lines(folder / QUERIES, _QueryLine):
        question_ids.add(line.id)
        if line.id not in judgements.by_question:
            continue
        if not says_something(line.text):
            left_out[LeftOut.SILENT_QUESTION] += 1
        elif relevant := corpus.usable(judgements.by_question[line.id], left_out):
            yield LabelledQuestion(line.id, line.text, relevant)
        else:
            left_out[LeftOut.NO_DOCUMENT_LEFT] += 1
    unknown = [judged for question, judged in judgements.by_question.items() if question not in question_ids]
    left_out.update({LeftOut.REPEATED_JUDGEMENT: judgements.repeated, LeftOut.UNKNOWN_QUESTION: sum(map(len, unknown))})
    judged = {question for path in (folder / QRELS).glob("*.tsv") for _, question, _, _ in _rows(path)}
    left_out[LeftOut.UNJUDGED_QUESTION] = len(question_ids - judged)


# Some sets write 1.0, which is the same judgement.
_WHOLE = regex(r"(-?\d{1,9})(?:\.0+)?", re.ASCII)


@dataclass(slots=True)
class Judgements:
    """By question, in the order of the file. `repeated` counts lines that say again what is said already."""

    by_question: dict[str, dict[str, int]] = field(default_factory=dict)
    repeated: int = 0


def read_qrels(path: Path) -> Judgements:
    """The judgements of a file: lines of question id, document id and a whole number, below one line of titles.

    Raises `InvalidInput` with the line.
    """
    judgements = Judgements()
    first_seen: dict[tuple[str, str], int] = {}
    for number, question, document, said in _rows(path):
        place = f"{path}, line {number}"
        grade = _grade(said, place)
        judged = judgements.by_question.setdefault(question, {})
        if judged.setdefault(document, grade) != grade:
            first = first_seen[question, document]
            raise InvalidInput(
                f"{place}: question {question!r} and document {document!r} are judged {grade} here and {judged[document]} "
                f"on line {first}; keep one"
            )
        if (question, document) in first_seen:
            judgements.repeated += 1
        first_seen.setdefault((question, document), number)
    return judgements


def _rows(path: Path) -> Iterator[tuple[int, str, str, str]]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.rstrip("\r").split("\t")]
        if len(columns) != 3 or not all(columns):
            raise InvalidInput(
                f"{path}, line {number}: not three values; write question id, document id and judgement with tabs between them"
            )
        question, document, grade = columns
        # Titles, unless somebody left them out.
        if number > 1 or _WHOLE.fullmatch(grade):
            yield number, question, document, grade


def _grade(grade: str, place: str) -> int:
    match = _WHOLE.fullmatch(grade)
    if match is None or int(match[1]) < -1:
        raise InvalidInput(
            f"{place}: judgement must be a whole number of at least -1, not {grade!r}; -1 is a distractor, above 0 is relevant"
        )
    return int(match[1])


class AgentCall(Protocol):
    """Puts a request of `api.requests` to an agent."""

    def __call__(self, what: str, /, **fields: object) -> Awaitable[Any]:
        """Its reply. Raises `HiveError`."""


@asynccontextmanager
async def running_agent(home: Path, agent: str) -> AsyncIterator[AgentCall | None]:
    """The agent, in the first fleet of this home that runs and has it; None where none does."""
    # Loaded where an agent is looked for: they bring what knows fleets, and data sets of files need none of it.
    from hive_mind.control.controller import HiveController
    from hive_mind.control.state import fleets

    for fleet in fleets(home):
        async with HiveController.open(home, fleet) as controller:
            status = await controller.status()
            process = next((agent_view.process for agent_view in status.agents if agent_view.name == agent), None)
            if process is not None and any(process_view.pid for process_view in status.processes if process_view.name == process):
                yield partial(controller.call, agent)
                return
    yield None


async def load_memory(settings: Settings, agent: str) -> Dataset:
    """The facts an agent of this home knows now. Raises `InvalidInput` for one that has learned nothing, and like opening a
    memory."""
    async with running_agent(settings.home, agent) as call:
        if call is not None:
            reply = await call("facts", limit=0)
            return facts_as_dataset(agent, map(fact_of, reply["facts"]))
    if not is_kept(settings, agent):
        raise InvalidInput(f"agent {agent!r} has learned nothing yet in {settings.home}: hive-mind learn PATH --agent {agent}")
    async with opened_store(settings, agent, is_reading=True) as store:
        return facts_as_dataset(agent, [fact async for batch in store.facts() for fact in batch])


def facts_as_dataset(name: str, facts: Iterable[Fact]) -> Dataset:
    """The facts a search may return, in the order in which they were learned, as one scope without questions."""
    left_out: Counter[str] = Counter()
    corpus = Corpus()
    for fact in sorted(facts, key=lambda fact: (fact.learned_at_us, fact.id)):
        if fact.is_current:
            corpus.take(_document(fact))
        else:
            left_out[LeftOut.RETRACTED_FACT if fact.is_retracted else LeftOut.SUPERSEDED_FACT] += 1
    left_out[LeftOut.SILENT_DOCUMENT] = len(corpus.silent)
    return Dataset(name, (Scope(name, tuple(corpus.documents.values()), ()),), dict(+left_out))


def _document(fact: Fact) -> Document:
    # The text alone: its speaker is a field of a document, and is put before its text when that is learned.
    prefix = f"{canonical(fact.speaker)}: "
    content = fact.content.removeprefix(prefix)
    return Document(
        id=fact.id,
        # A speaker that quotes itself would otherwise lose the quotation.
        text=fact.content if content.startswith(prefix) else content,
        source=fact.sources[0],
        said_at=fact.said_at,
        speaker=fact.speaker,
        section=fact.sources[0],
        before=fact.before,
        topic=fact.concept,
        kind=_kind_of(fact),
        meta={"confidence": repr(fact.confidence)},
    )


def _kind_of(fact: Fact) -> str:
    """The kind of its source: a conversation, a file by its ending, others by the name up to a slash."""
    if fact.speaker:
        return "chat"
    ending = PurePath(fact.sources[0]).suffix[1:].lower()
    return ending if ending.isalnum() else fact.sources[0].partition("/")[0]


Load = Callable[[Path, str], Dataset]


def load_dataset(path: Path, name: str = "", format: str = "auto") -> Dataset:
    """A data set of one of `FORMATS`, or of the one it looks like.

    `name` chooses among several JSONL sets or LongMemEval files of a folder, and among the parts of a BEIR set; the others have
    nothing to choose. Of documents longer than a fact can be the beginning is kept, and they are counted. Raises `InvalidInput`.
    """
    if format not in ("auto", *FORMATS):
        raise InvalidInput(f"unknown data set format {format!r}; known: auto, {', '.join(FORMATS)}")
    if not path.exists():
        raise InvalidInput(f"{path}: there is no such file or folder; check the path")
    format = detected(path) if format == "auto" else format
    if name and format in _UNDIVIDED:
        raise InvalidInput(f"{path}: there is no part {name!r} to choose; {_UNDIVIDED[format]}, so leave it out")
    return fitting(FORMATS[format](path, name))


def detected(path: Path) -> str:
    """The format of what is there. Raises `InvalidInput` for what is in none of them."""
    if path.is_dir():
        if any(path.glob(f"*{CORPUS_SUFFIX}")):
            return "jsonl"
        # Complete or not.
        if (path / QRELS).is_dir() or any((path / name).is_file() for name in (CORPUS, QUERIES)):
            return "beir"
        files = sorted(path.glob("*.json"))
        return _of_json(files[0]) if files else "locomo"
    if path.suffix == ".jsonl":
        if path.name in (CORPUS, QUERIES):
            return "beir"
        is_exchange = path.name.endswith((CORPUS_SUFFIX, "queries.jsonl"))
        return "memory" if not is_exchange and read_bytes(path).lstrip().startswith(b'{"type":') else "jsonl"
    if path.suffix == ".tsv" and path.parent.name == QRELS:
        return "beir"
    # LongMemEval's files are also found without an ending.
    if path.suffix in (".json", ""):
        return _of_json(path)
    raise InvalidInput(
        f"{path}: not a data set; give a .json file of LoCoMo or LongMemEval, NAME{CORPUS_SUFFIX}, or a folder of those or BEIR's"
    )


def _of_json(path: Path) -> str:
    """By a key that only one of them has. Quotation marks inside a text are escaped, so no text looks like a key."""
    body = read_bytes(path)
    if b'"haystack_sessions"' in body:
        return "longmemeval"
    if b'"relevant_knowledge_node_uuids"' in body:
        raise InvalidInput(f"{path}: a question file, which has no documents; give it as the `questions` of a data set")
    return "locomo"


def _memory(path: Path, _name: str) -> Dataset:
    # The facts written by `hive-mind facts export`. Raises `InvalidInput`.
    try:
        records = read_records(read_text(path).split("\n"))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error
    return facts_as_dataset(path.stem, records.facts)


def _beir(path: Path, part: str) -> Dataset:
    """From the folder or any file in it; a file of judgements names its part."""
    if path.suffix == ".tsv":
        return load_beir(path.parent.parent, part or path.stem)
    return load_beir(path if path.is_dir() else path.parent, part)


FORMATS: Mapping[str, Load] = {
    "locomo": lambda path, _name: load_locomo(path),
    "longmemeval": load_longmemeval,
    "beir": _beir,
    "jsonl": load_jsonl,
    "memory": _memory,
}
"""How each format is read, by its name."""
# Those of which nothing can be chosen, and why.
_UNDIVIDED = {"locomo": "LoCoMo's conversations are read together", "memory": "an export has one agent's facts"}


def fitting(dataset: Dataset) -> Dataset:
    """The same with every document cut to what can be kept. `left_out` says of how many the end is missing.

    A memory refuses a statement that is too long, and would refuse the whole set with it. Cut here, every arm holds the same.
    """
    scopes = tuple(
        Scope(scope.name, tuple(_cut(document) for document in scope.documents), scope.questions) for scope in dataset.scopes
    )
    pairs = zip(dataset.scopes, scopes, strict=True)
    shorter = sum(old.text != new.text for was, now in pairs for old, new in zip(was.documents, now.documents, strict=True))
    if not shorter:
        return replace(dataset, scopes=scopes)
    return replace(dataset, scopes=scopes, left_out={**dataset.left_out, LeftOut.LONG_DOCUMENT: shorter})


def _cut(document: Document) -> Document:
    speaker, before = document.speaker[:NAME_CHARACTERS_MAX], document.before[:STATEMENT_CHARACTERS_MAX]
    # The speaker is put before the text.
    prefix_length = len(f"{canonical(speaker)}: ") if canonical(speaker) else 0
    text = _beginning(document.text, STATEMENT_CHARACTERS_MAX - prefix_length)
    if (text, before, speaker) == (document.text, document.before, document.speaker):
        return document
    return replace(document, text=text, before=before, speaker=speaker)


def _beginning(text: str, characters: int) -> str:
    """A text is kept in its canonical form, which may be shorter than what was written, or longer."""
    canonical_text = canonical(text)
    return text if len(canonical_text) <= characters else canonical_text[:characters]
