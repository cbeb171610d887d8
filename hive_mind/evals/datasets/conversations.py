"""LoCoMo (Maharana et al. 2024): long conversations between two people, and questions with the turns that answer them.

Reads one conversation a file, as its authors publish it, and the list of `sample_id`, `conversation`, `qa` in which it also
circulates; both give the same ids. Every conversation is a scope. Misspelt evidence is mended or counted in `_evidence`.

LongMemEval's format (Wu et al. 2025): every question has a history of its own, dated sessions between a user and an assistant.

Every question is a scope, every turn a document; the turns marked `has_answer` answer the question. A question with an id ending
in `_abs` asks for something its history does not hold.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import (
    Dataset,
    Document,
    LabelledQuestion,
    LeftOut,
    Scope,
    in_words,
    iso_time,
    iso_time_slashed,
    merged,
    read_json,
    repeated_in,
    says_something,
    shaped,
    turns_named,
)
from hive_mind.regex import regex

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

# Questions for something that nobody said; a good answer says so. Its evidence is what it was made from, and still to be found.
_ADVERSARIAL = 5
NOT_SAID = "the conversation does not say it"
_SESSION = regex(r"session_(\d{1,9})", re.ASCII)
_DECLINES = ("not mentioned", "no information", "unknown")


class _Turn(msgspec.Struct, frozen=True):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str = ""


class _Question(msgspec.Struct, frozen=True):
    question: str
    category: int
    evidence: list[str] = []
    # Left open: answers are texts, numbers or lists, and adversarial questions have none.
    answer: Any = ""
    adversarial_answer: Any = ""


def load_locomo(path: Path) -> Dataset:
    """All conversations of a file, or of the `*.json` files of a folder. Raises `InvalidInput`."""
    files = [path]
    if path.is_dir() and not (files := sorted(path.glob("*.json"), key=lambda file: (len(file.stem), file.stem))):
        raise InvalidInput(f"{path}: holds no .json file; give the folder with LoCoMo's conversations")
    return merged("locomo", [dataset for file in files for dataset in _conversations(file)], path, "conversation")


def _conversations(path: Path) -> Iterator[Dataset]:
    value = read_json(path)
    samples = value if isinstance(value, list) else [value]
    for number, sample in enumerate(samples, 1):
        if not isinstance(sample, dict):
            raise InvalidInput(f"{path}, entry {number}: not a conversation; give a file in LoCoMo's format")
        name = str(sample.get("sample_id", path.stem)).removeprefix("conv-")
        conversation = sample.get("conversation", sample)
        yield _dataset(name, conversation, sample.get("qa", []), f"{path}, conversation {name}")


def _dataset(name: str, conversation: Any, questions: Any, place: str) -> Dataset:
    left_out: Counter[str] = Counter()
    documents = tuple(_documents(name, conversation, left_out, place))
    unique_ids = {document.id for document in documents}
    if repeated := repeated_in(document.id for document in documents):
        raise InvalidInput(f"{place}: several turns are called {repeated!r}; give each its own dia_id")
    labelled_questions: list[LabelledQuestion] = []
    mended = 0
    for number, question in enumerate(shaped(questions, list[_Question], f"{place}, qa"), 1):
        turns = turns_named(question.evidence)
        mended += turns.mended
        relevant = {turn: 1 for turn in turns.turns if turn in unique_ids}
        left_out.update({LeftOut.UNREADABLE: turns.unreadable, LeftOut.UNKNOWN_TURN: len(turns.turns) - len(relevant)})
        if not says_something(question.question):
            left_out[LeftOut.SILENT_QUESTION] += 1
        elif relevant:
            labelled_questions.append(_labelled(f"q{number}", question, relevant))
        else:
            left_out[LeftOut.NO_TURN_LEFT if question.evidence else LeftOut.NO_EVIDENCE] += 1
    return Dataset("locomo", (Scope(name, documents, tuple(labelled_questions)),), dict(+left_out), mended)


def _labelled(id_: str, question: _Question, relevant: dict[str, int]) -> LabelledQuestion:
    answer, trap = in_words(question.answer), in_words(question.adversarial_answer)
    # A few adversarial questions have a plain answer all the same: is it hers? No.
    is_answerable = question.category != _ADVERSARIAL or bool(answer)
    is_trap = not is_answerable and says_something(trap) and not trap.lower().startswith(_DECLINES)
    return LabelledQuestion(
        id_,
        question.question,
        relevant,
        CATEGORIES.get(question.category, str(question.category)),
        answer,
        forbidden=(trap,) if is_trap else (),
        is_answerable=is_answerable,
        gap="" if is_answerable else NOT_SAID,
    )


def _documents(name: str, conversation: Any, left_out: Counter[str], place: str) -> Iterator[Document]:
    # Sessions by number; a date without turns is no session.
    if not isinstance(conversation, dict):
        raise InvalidInput(f"{place}: 'conversation' is not an object; give a file in LoCoMo's format")
    numbered = {int(match[1]): key for key in conversation if (match := _SESSION.fullmatch(key))}
    if not numbered:
        raise InvalidInput(f"{place}: holds no session_1, session_2, …; give a file in LoCoMo's format")
    for section, turns in [(numbered[number], conversation[numbered[number]] or []) for number in sorted(numbered)]:
        dated = f"{section}_date_time"
        said_at = iso_time(shaped(conversation.get(dated, ""), str, f"{place}, {dated}"), f"{place}, {dated}")
        before = ""
        for turn in shaped(turns, list[_Turn], f"{place}, {section}"):
            # The text and the content of the shared picture, as a reader of the chat would take it in.
            picture = f"[shares {turn.blip_caption}]" if turn.blip_caption else ""
            if not (text := f"{turn.text} {picture}".strip()):
                left_out[LeftOut.EMPTY_TURN] += 1
                continue
            meta = {"picture": turn.blip_caption} if turn.blip_caption else {}
            yield Document(turn.dia_id, text, f"{name}/{section}", said_at, turn.speaker, section, before, meta, kind="chat")
            before = f"{turn.speaker}: {text}"


ABSTENTION = "_abs"
NOT_IN_HISTORY = "the history does not hold the answer"


class _SessionTurn(msgspec.Struct, frozen=True):
    role: str
    content: str
    # Some releases write null where there is no mark.
    has_answer: bool | None = None


Name = Annotated[str, msgspec.Meta(min_length=1)]


class _Entry(msgspec.Struct, frozen=True):
    question_id: Name
    question_type: str
    question: str
    haystack_session_ids: list[Name]
    haystack_dates: list[str]
    haystack_sessions: list[list[_SessionTurn]]
    question_date: str = ""
    answer_session_ids: list[str] = []
    # Left open: counts are numbers.
    answer: Any = ""


@dataclass(frozen=True, slots=True)
class _Session:
    name: str
    said_at: str
    turns: Sequence[_SessionTurn]


def load_longmemeval(path: Path, name: str = "") -> Dataset:
    """All questions of a file; `name` chooses among the files of a folder. Raises `InvalidInput`."""
    file = _file_in(path, name) if path.is_dir() else path
    entries = read_json(file)
    if not isinstance(entries, list):
        raise InvalidInput(f"{file}: not a list of questions; give a file in LongMemEval's format")
    datasets = [_dataset_of_entry(entry, f"{file}, entry {number}") for number, entry in enumerate(entries, 1)]
    return merged(file.stem, datasets, file, "question")


def _file_in(folder: Path, name: str) -> Path:
    files = {path.stem: path for path in sorted(folder.glob("*.json"))}
    if not name and len(files) > 1:
        raise InvalidInput(f"{folder}: holds several files; name one of {', '.join(files)}")
    chosen = name or next(iter(files), "")
    if chosen not in files:
        raise InvalidInput(f"{folder}: holds no {chosen or 'NAME'}.json; give the file in LongMemEval's format")
    return files[chosen]


def _dataset_of_entry(value: Any, place: str) -> Dataset:
    entry = shaped(value, _Entry, place)
    left_out, scope, place = Counter[str](), entry.question_id, f"{place}, question {entry.question_id}"
    sessions = _sessions_of(entry, left_out, place)
    documents: list[Document] = []
    for session in sessions:
        before = ""
        for number, turn in enumerate(session.turns, 1):
            if not says_something(turn.content):
                left_out[LeftOut.SILENT_TURN] += 1
                continue
            id, source = _turn_id(session, number), f"{scope}/{session.name}"
            documents.append(Document(id, turn.content, source, session.said_at, turn.role, session.name, before, kind="chat"))
            before = f"{turn.role}: {turn.content}"
    questions = tuple(_questions(entry, sessions, left_out, place))
    return Dataset("", (Scope(scope, tuple(documents), questions),), dict(+left_out))


def _sessions_of(entry: _Entry, left_out: Counter[str], place: str) -> list[_Session]:
    """In the order of the file. The same session under the same id was drawn twice; another one under it is a mistake."""
    ids, dates, contents = entry.haystack_session_ids, entry.haystack_dates, entry.haystack_sessions
    if not len(ids) == len(dates) == len(contents):
        raise InvalidInput(
            f"{place}: {len(ids)} haystack_session_ids, {len(dates)} haystack_dates and {len(contents)} haystack_sessions; "
            "give every session its id and its date"
        )
    sessions: dict[str, _Session] = {}
    for name, date, turns in zip(ids, dates, contents, strict=True):
        session = _Session(name, iso_time_slashed(date, f"{place}, session {name}"), turns)
        if sessions.setdefault(name, session).turns != turns:
            raise InvalidInput(f"{place}: several sessions are called {name!r}; give each its own id")
    left_out[LeftOut.REPEATED_SESSION] = len(ids) - len(sessions)
    return [*sessions.values()]


def _questions(entry: _Entry, sessions: list[_Session], left_out: Counter[str], place: str) -> Iterator[LabelledQuestion]:
    """The entry's one question, where it can be measured."""
    is_answerable = not entry.question_id.endswith(ABSTENTION)
    relevant = _evidence(entry, sessions, left_out) if is_answerable else {}
    if not says_something(entry.question):
        left_out[LeftOut.SILENT_QUESTION] += 1
    elif is_answerable and not relevant:
        left_out[LeftOut.NO_TURN_LEFT if entry.answer_session_ids else LeftOut.NO_EVIDENCE] += 1
    else:
        yield LabelledQuestion(
            entry.question_id,
            entry.question,
            relevant,
            entry.question_type,
            in_words(entry.answer),
            is_answerable=is_answerable,
            gap="" if is_answerable else NOT_IN_HISTORY,
            asked_at=iso_time_slashed(entry.question_date, f"{place}, question_date"),
        )


def _evidence(entry: _Entry, sessions: list[_Session], left_out: Counter[str]) -> dict[str, int]:
    """The marked turns; sessions that are named as evidence and have none are counted."""
    marked = {
        session.name: [
            _turn_id(session, number)
            for number, turn in enumerate(session.turns, 1)
            if turn.has_answer and says_something(turn.content)
        ]
        for session in sessions
    }
    answer_session_ids = set(entry.answer_session_ids)
    left_out[LeftOut.UNKNOWN_SESSION] = len(answer_session_ids - marked.keys())
    left_out[LeftOut.UNMARKED_SESSION] = sum(not marked[name] for name in answer_session_ids & marked.keys())
    return {turn: 1 for turns in marked.values() for turn in turns}


def _turn_id(session: _Session, number: int) -> str:
    return f"{session.name}:{number}"
