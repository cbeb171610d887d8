"""The form of every data set in the rest of the program, whatever file it came from.

A data set is a list of scopes; a question is asked of the documents of its own scope and of no others. Input that a loader could
not use is counted with its reason, so that no figure is printed over a silently smaller set.

Readers of several formats share more: the reasons to leave something out, the documents of a scope while they are read, times,
lists of evidence, and the reading of files of untrusted content, whose failures name the file, the place in it, and the remedy.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from hive_mind.errors import InvalidInput, reason_of
from hive_mind.memory.intake import STATEMENT_CHARACTERS_MAX
from hive_mind.model.decoding import converted, is_utf8, json_decoder
from hive_mind.regex import regex


@dataclass(frozen=True, slots=True)
class Document:
    """One thing that can be found: a turn of a conversation, an abstract, a page. Documents keep their order.

    `said_at` is ISO 8601 as precise as known, or "". `section` is the session or chapter. `before` is what was said just
    before in the same section ("" at its start), with its speaker where there is one; it helps to find, and is not
    part of the document. `kind` is what sort of source it comes from ("chat", "log", …; "" where the data does not say),
    `topic` the project or subject it belongs to.
    """

    id: str
    text: str
    source: str
    said_at: str = ""
    speaker: str = ""
    section: str = ""
    before: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question and the documents that answer it.

    `relevant` maps document ids to judgements: above 0 relevant, -1 a distractor that looks right and is wrong. `answer` is the
    expected one in words, "" where none is given. A good answer has all of `required`, at least one of `acceptable` where there
    are any, and none of `forbidden`; `superseded` are the values that were true before and would be stale now. `intent` and
    `source_bias` are document 003's; `gap` is the reason why nothing answers it, where nothing does. An unanswerable question may
    still have `relevant` documents: those that show that the answer is not there. `asked_at` is when it is asked, in ISO 8601,
    where "last week" depends on it; "" where it doesn't or is not known.
    """

    id: str
    text: str
    relevant: Mapping[str, int]
    category: str = ""
    answer: str = ""
    intent: str = ""
    source_bias: str = ""
    required: tuple[str, ...] = ()
    acceptable: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    is_answerable: bool = True
    gap: str = ""
    asked_at: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """Documents that are searched together, and the questions asked of them."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[LabelledQuestion, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """`left_out` counts, by reason, items of the files missing here; `mended` those understood though misspelt.

    `groups` names the scope each question came from, by the id it has when scopes are pooled; nothing where there was but one.
    """

    name: str
    scopes: tuple[Scope, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    mended: int = 0
    groups: Mapping[str, str] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        return sum(len(scope.documents) for scope in self.scopes)

    @property
    def questions(self) -> int:
        return sum(len(scope.questions) for scope in self.scopes)


def says_something(text: str) -> bool:
    """Whether there is a word in it. A text without one is no fact, and could never be found."""
    return any(character.isalnum() for character in text)


def pooled(dataset: Dataset) -> Dataset:
    """The same questions asked of all documents together: one scope, ids and sections made unique as "scope/id"."""
    documents: list[Document] = []
    questions: list[LabelledQuestion] = []
    for scope in dataset.scopes:
        prefix = f"{scope.name}/"
        # Every conversation has a first session, and they are not the same.
        documents += [
            replace(document, id=prefix + document.id, section=document.section and prefix + document.section)
            for document in scope.documents
        ]
        questions += [
            replace(question, id=prefix + question.id, relevant={prefix + id: grade for id, grade in question.relevant.items()})
            for question in scope.questions
        ]
    return replace(dataset, scopes=(Scope(dataset.name, tuple(documents), tuple(questions)),))


def merged(name: str, datasets: list[Dataset], path: Path, kind: str) -> Dataset:
    """Data sets read from `path` as one. Raises `InvalidInput` for two scopes, each a `kind`, of one name."""
    left_out: Counter[str] = Counter()
    for dataset in datasets:
        left_out.update(dataset.left_out)
    scopes = tuple(scope for dataset in datasets for scope in dataset.scopes)
    if repeated := repeated_in(scope.name for scope in scopes):
        raise InvalidInput(f"{path}: {kind} {repeated!r} comes twice; remove one of them")
    names = {f"{scope.name}/{question.id}": scope.name for scope in scopes for question in scope.questions}
    mended = sum(dataset.mended for dataset in datasets)
    return Dataset(name, scopes, dict(left_out), mended, names if len(scopes) > 1 else {})


def repeated_in(names: Iterable[str]) -> str:
    """The first name that comes twice, or ""."""
    return next((name for name, count in Counter(names).items() if count > 1), "")


class LeftOut:
    """Why something that a file has is not asked of or asked."""

    SILENT_DOCUMENT = "documents without a word"
    LONG_DOCUMENT = f"ends of documents, beyond the {STATEMENT_CHARACTERS_MAX:,} characters that a fact can have"
    EMPTY_TURN = "turns without text or picture"
    SILENT_TURN = "turns without a word"
    REPEATED_SESSION = "sessions that come twice in one history"
    SUPERSEDED_FACT = "facts that a newer one replaced"
    RETRACTED_FACT = "facts that were taken back"

    SILENT_QUESTION = "questions without a word"
    UNJUDGED_QUESTION = "questions without a judgement"
    NO_EVIDENCE = "questions without evidence"
    NO_TURN_LEFT = "questions whose evidence names no turn that exists"
    NO_DOCUMENT_LEFT = "questions whose judgements name no document that can be found"
    NOTHING_TO_MEASURE = "questions without documents, keywords or a reason for their absence"

    UNKNOWN_TURN = "evidence entries that name no turn that exists"
    UNREADABLE = "evidence entries that name nothing"
    UNKNOWN_SESSION = "evidence sessions that are not in the history"
    UNMARKED_SESSION = "evidence sessions without a marked turn"
    UNKNOWN_DOCUMENT = "judgements of documents that are not in the corpus"
    JUDGED_SILENT = "judgements of documents without a word"
    UNKNOWN_QUESTION = "judgements of questions that are not in the file of questions"
    REPEATED_JUDGEMENT = "judgements that are given twice"

    ABOUT_DOCUMENTS = frozenset(
        {SILENT_DOCUMENT, LONG_DOCUMENT, EMPTY_TURN, SILENT_TURN, REPEATED_SESSION, SUPERSEDED_FACT, RETRACTED_FACT}
    )
    """These stay true when other questions are asked of the same documents."""


_PLAIN = regex(r"D[1-9]\d*:[1-9]\d*")
# A colon too much after the D, and leading zeros, are slips; the two numbers are session and turn.
_MISSPELT = regex(r"D:?(\d+):(\d+)")

_TIME = regex(r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*", re.IGNORECASE)
_SLASHED = regex(r"(\d{4})/(\d{1,2})/(\d{1,2})(?: ?\([A-Za-z]+\))?(?: (\d{1,2}):(\d{2}))?")
_MONTHS = "january february march april may june july august september october november december".split()


@dataclass(frozen=True, slots=True)
class NamedTurns:
    """Distinct turn ids in order; how many entries were mended, and how many name nothing."""

    turns: tuple[str, ...]
    mended: int
    unreadable: int


def turns_named(evidence: Iterable[str]) -> NamedTurns:
    turns: dict[str, None] = {}
    mended = unreadable = 0
    for entry in evidence:
        if _PLAIN.fullmatch(entry):
            turns[entry] = None
        elif numbers := _MISSPELT.findall(entry):
            mended += 1
            turns.update({f"D{session.lstrip('0') or 0}:{turn.lstrip('0') or 0}": None for session, turn in numbers})
        else:
            unreadable += 1
    return NamedTurns(tuple(turns), mended, unreadable)


def iso_time(text: str, place: str) -> str:
    """To the minute, without a time zone because none is given; "" for "". Raises `InvalidInput` naming `place`."""
    if not text:
        return ""
    match = _TIME.fullmatch(text)
    if match is None or match[5].lower() not in _MONTHS:
        raise InvalidInput(f'{place}: {text!r} is not a time; write it like "1:56 pm on 8 May, 2023"')
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
    month = _MONTHS.index(match[5].lower()) + 1
    return _real(text, place, int(match[6]), month, int(match[4]), hour, int(match[2])).isoformat(timespec="minutes")


def iso_time_slashed(text: str, place: str) -> str:
    """To the minute or, where only the day is given, to the day; "" for "". Raises `InvalidInput` naming `place`."""
    if not text:
        return ""
    match = _SLASHED.fullmatch(" ".join(text.split()))
    if match is None:
        raise InvalidInput(f'{place}: {text!r} is not a time; write it like "2023/05/20 (Sat) 02:21"')
    year, month, day, hour, minute = (int(group or 0) for group in match.groups())
    when = _real(text, place, year, month, day, hour, minute)
    return when.isoformat(timespec="minutes") if match[4] else when.date().isoformat()


def _real(text: str, place: str, year: int, month: int, day: int, hour: int, minute: int) -> datetime:
    try:
        return datetime(year, month, day, hour, minute)  # noqa: DTZ001 - none is given
    except ValueError as error:
        raise InvalidInput(f"{place}: {text!r} does not exist ({error}); correct it") from error


@dataclass(slots=True)
class Corpus:
    """Documents by id in their order, and the ids of those without a word."""

    documents: dict[str, Document] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)

    def take(self, document: Document) -> None:
        """Keep it, if it says something."""
        if says_something(document.text):
            self.documents[document.id] = document
        else:
            self.silent.add(document.id)

    def usable(self, judgements: Mapping[str, int], left_out: Counter[str]) -> dict[str, int]:
        """Judgements of documents that can be found; the others are counted."""
        usable = {document: judgement for document, judgement in judgements.items() if document in self.documents}
        silent = len(judgements.keys() & self.silent)
        left_out.update({LeftOut.JUDGED_SILENT: silent, LeftOut.UNKNOWN_DOCUMENT: len(judgements) - len(usable) - silent})
        return usable


T = TypeVar("T")
# Python's reader, which sees keys that come twice, takes seconds for more; files of that size are published ones.
_CHECKED_BYTES_MAX = 64_000_000
_NO_UTF8 = "not UTF-8; save the file as UTF-8"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Identified(Protocol):
    """A line that has an id."""

    @property
    def id(self) -> str:
        """Another one on every line of a file."""


Line = TypeVar("Line", bound=Identified)


def read_bytes(path: Path) -> bytes:
    """The file's bytes without a byte order mark. Raises `InvalidInput`, also for UTF-16."""
    try:
        body = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: can't be read ({reason_of(error)}); check the path") from error
    if body.startswith(_UTF16):
        raise InvalidInput(f"{path}: is UTF-16; save the file as UTF-8")
    return body.removeprefix(b"\xef\xbb\xbf")


def read_text(path: Path) -> str:
    """The file's text. Raises `InvalidInput` with the line."""
    return _text(path, read_bytes(path))


def read_json(path: Path) -> Any:
    """The file's one JSON value. Raises `InvalidInput` with the line."""
    body = read_bytes(path)
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # Files of hundreds of megabytes are read by the faster reader; the slower one knows the line of what is wrong.
        raise InvalidInput(f"{path}, {_what_is_wrong(path, body, error)}; correct it or download the file again") from error
    if len(body) <= _CHECKED_BYTES_MAX:
        _refuse_repeated_keys(body, str(path))
    return value


def read_lines(path: Path, shape: type[Line]) -> Iterator[tuple[str, Line]]:
    """JSON Lines of one shape, each with its place, "FILE, line N". Raises `InvalidInput`, also for an id that comes twice."""
    first_seen: dict[str, int] = {}
    for number, raw in enumerate(read_bytes(path).splitlines(), 1):
        if not raw.strip():
            continue
        place = f"{path}, line {number}"
        line = decoded(raw, shape, place)
        if line.id in first_seen:
            raise InvalidInput(f"{place}: _id {line.id!r} is already on line {first_seen[line.id]}; rename one")
        first_seen[line.id] = number
        yield place, line


def decoded(line: bytes, shape: type[T], place: str) -> T:
    """One JSON line as the given shape. `place` is "FILE, line N". Raises `InvalidInput`."""
    try:
        value = json_decoder(shape)(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{place}: {f'{error}; correct this line' if is_utf8(line) else _NO_UTF8}") from error
    _refuse_repeated_keys(line, place)
    return value


def _refuse_repeated_keys(body: bytes, place: str) -> None:
    """Raises `InvalidInput` for an object in which a key stands twice: readers take one of the values in silence."""

    def refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys:
                raise InvalidInput(f"{place}: the key {key[:80]!r} stands twice in one object; keep one")
            keys.add(key)

    # The faster reader took it, which reads deeper and larger than this one.
    with suppress(ValueError, RecursionError):
        json.loads(body, object_pairs_hook=refuse_repeated, parse_int=str)


def shaped(value: Any, shape: type[T], place: str) -> T:
    """A decoded JSON value as the given shape. `place` is "FILE, where in it". Raises `InvalidInput`."""
    try:
        return converted(value, shape)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{place}: {error}; correct it or download the file again") from error


def one_of(folder: Path, names: Sequence[str], name: str, kind: str) -> str:
    """The named one of what a folder holds, or the only one there is. Raises `InvalidInput`."""
    if not name and len(names) > 1:
        raise InvalidInput(f"{folder}: holds several {kind}s; name one of {', '.join(names)}")
    chosen = name or names[0]
    if chosen not in names:
        raise InvalidInput(f"{folder}: holds no {kind} {chosen!r}; name one of {', '.join(names)}")
    return chosen


def in_words(value: Any) -> str:
    """A value of JSON as text: files give years and counts as numbers, and null for nothing."""
    return "" if value is None else str(value)


def _text(path: Path, body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{path}, line {line}: {_NO_UTF8}") from error


def _what_is_wrong(path: Path, body: bytes, exception: Exception) -> str:
    try:
        # Python refuses to make a number of thousands of digits; here it is only looked for what is no JSON.
        json.loads(_text(path, body), parse_int=str)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: not JSON ({error})"
    except RecursionError as error:
        return f"line 1: not JSON ({error})"
    # Half a surrogate pair or NaN, which no other program could read.
    return f"line 1: not JSON ({exception})"
