"""LongMemEval's format (Wu et al. 2025): every question has a history of its own, dated sessions between a user and an assistant.

Every question is a scope, every turn a document; the turns marked `has_answer` answer the question. A question with an id ending
in `_abs` asks for something its history does not hold.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.base import (
    NO_EVIDENCE,
    NO_TURN_LEFT,
    REPEATED_SESSION,
    SILENT_QUESTION,
    SILENT_TURN,
    UNKNOWN_SESSION,
    UNMARKED_SESSION,
    Dataset,
    Document,
    LabelledQuestion,
    Scope,
    iso_time_slashed,
    merged,
    says_something,
)
from hive_mind.evals.datasets.files import in_words, read_json, shaped

ABSTENTION = "_abs"
GAP = "the history does not hold the answer"


class _Turn(msgspec.Struct, frozen=True):
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
    haystack_sessions: list[list[_Turn]]
    question_date: str = ""
    answer_session_ids: list[str] = []
    # Left open: counts are numbers.
    answer: Any = ""


@dataclass(frozen=True, slots=True)
class _Session:
    name: str
    said_at: str
    turns: Sequence[_Turn]


def load_longmemeval(path: Path, name: str = "") -> Dataset:
    """All questions of a file; `name` chooses among the files of a folder. Raises `InvalidInput`."""
    file = _file_in(path, name) if path.is_dir() else path
    entries = read_json(file)
    if not isinstance(entries, list):
        raise InvalidInput(f"{file}: not a list of questions; give a file in LongMemEval's format")
    datasets = [_dataset(entry, f"{file}, entry {number}") for number, entry in enumerate(entries, 1)]
    together = merged(file.stem, datasets)
    counts = Counter(scope.name for scope in together.scopes)
    if repeated := [question for question, count in counts.items() if count > 1]:
        raise InvalidInput(f"{file}: question {repeated[0]!r} comes twice; remove one of them")
    return together


def _file_in(folder: Path, name: str) -> Path:
    files = {path.stem: path for path in sorted(folder.glob("*.json"))}
    if not name and len(files) > 1:
        raise InvalidInput(f"{folder}: holds several files; name one of {', '.join(files)}")
    chosen = name or next(iter(files), "")
    if chosen not in files:
        raise InvalidInput(f"{folder}: holds no {chosen or 'NAME'}.json; give the file in LongMemEval's format")
    return files[chosen]


def _dataset(value: Any, place: str) -> Dataset:
    entry = shaped(value, _Entry, place)
    left_out: Counter[str] = Counter()
    sessions = _sessions(entry, left_out, f"{place}, question {entry.question_id}")
    documents = tuple(document for session in sessions for document in _documents(entry.question_id, session, left_out))
    questions = tuple(_questions(entry, sessions, left_out, f"{place}, question {entry.question_id}"))
    return Dataset("", (Scope(entry.question_id, documents, questions),), dict(+left_out))


def _sessions(entry: _Entry, left_out: Counter[str], place: str) -> list[_Session]:
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
    left_out[REPEATED_SESSION] = len(ids) - len(sessions)
    return [*sessions.values()]


def _documents(scope: str, session: _Session, left_out: Counter[str]) -> Iterator[Document]:
    before = ""
    for number, turn in enumerate(session.turns, 1):
        if not says_something(turn.content):
            left_out[SILENT_TURN] += 1
            continue
        yield Document(
            _turn_id(session, number),
            turn.content,
            f"{scope}/{session.name}",
            session.said_at,
            turn.role,
            session.name,
            before,
            kind="chat",
        )
        before = f"{turn.role}: {turn.content}"


def _questions(entry: _Entry, sessions: list[_Session], left_out: Counter[str], place: str) -> Iterator[LabelledQuestion]:
    """The entry's one question, where it can be measured."""
    is_answerable = not entry.question_id.endswith(ABSTENTION)
    relevant = _evidence(entry, sessions, left_out) if is_answerable else {}
    if not says_something(entry.question):
        left_out[SILENT_QUESTION] += 1
    elif is_answerable and not relevant:
        left_out[NO_TURN_LEFT if entry.answer_session_ids else NO_EVIDENCE] += 1
    else:
        yield LabelledQuestion(
            entry.question_id,
            entry.question,
            relevant,
            entry.question_type,
            in_words(entry.answer),
            is_answerable=is_answerable,
            gap="" if is_answerable else GAP,
            asked_at=iso_time_slashed(entry.question_date, f"{place}, question_date"),
        )


def _evidence(entry: _Entry, sessions: list[_Session], left_out: Counter[str]) -> dict[str, int]:
    """The marked turns; sessions that are named as evidence and have none are counted."""
    marked = {session.name: _marked(session) for session in sessions}
    answer_session_ids = set(entry.answer_session_ids)
    left_out[UNKNOWN_SESSION] = len(answer_session_ids - marked.keys())
    left_out[UNMARKED_SESSION] = sum(not marked[name] for name in answer_session_ids & marked.keys())
    return {turn: 1 for turns in marked.values() for turn in turns}


def _marked(session: _Session) -> list[str]:
    turns = enumerate(session.turns, 1)
    return [_turn_id(session, number) for number, turn in turns if turn.has_answer and says_something(turn.content)]


def _turn_id(session: _Session, number: int) -> str:
    return f"{session.name}:{number}"
