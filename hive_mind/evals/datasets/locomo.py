"""LoCoMo (Maharana et al. 2024): long conversations between two people, and questions with the turns that answer them.

Reads one conversation a file, as its authors publish it, and the list of `sample_id`, `conversation`, `qa` in which it also
circulates; both give the same ids. Every conversation is a scope. Misspelt evidence is mended or counted in `_evidence`.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.base import (
    EMPTY_TURN,
    NO_EVIDENCE,
    NO_TURN_LEFT,
    SILENT_QUESTION,
    UNKNOWN_TURN,
    UNREADABLE,
    Dataset,
    Document,
    LabelledQuestion,
    Scope,
    iso_time,
    merged,
    says_something,
    turns_named,
)
from hive_mind.evals.datasets.files import in_words, read_json, shaped
from hive_mind.regex import regex

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

# Questions for something that nobody said; a good answer says so. Its evidence is what it was made from, and still to be found.
_ADVERSARIAL = 5
GAP = "the conversation does not say it"
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
    if not path.is_dir():
        return _together(path, list(_conversations(path)))
    files = sorted(path.glob("*.json"), key=lambda file: (len(file.stem), file.stem))
    if not files:
        raise InvalidInput(f"{path}: holds no .json file; give the folder with LoCoMo's conversations")
    return _together(path, [dataset for file in files for dataset in _conversations(file)])


def _together(path: Path, datasets: list[Dataset]) -> Dataset:
    together = merged("locomo", datasets)
    counts = Counter(scope.name for scope in together.scopes)
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise InvalidInput(f"{path}: conversation {repeated[0]!r} comes twice; remove one of them")
    return together


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
    unique_ids = _unique_ids(documents, place)
    labelled_questions: list[LabelledQuestion] = []
    mended = 0
    for number, question in enumerate(shaped(questions, list[_Question], f"{place}, qa"), 1):
        turns = turns_named(question.evidence)
        mended += turns.mended
        relevant = {turn: 1 for turn in turns.turns if turn in unique_ids}
        left_out.update({UNREADABLE: turns.unreadable, UNKNOWN_TURN: len(turns.turns) - len(relevant)})
        if not says_something(question.question):
            left_out[SILENT_QUESTION] += 1
        elif relevant:
            labelled_questions.append(_labelled(f"q{number}", question, relevant))
        else:
            left_out[NO_TURN_LEFT if question.evidence else NO_EVIDENCE] += 1
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
        gap="" if is_answerable else GAP,
    )


def _documents(name: str, conversation: Any, left_out: Counter[str], place: str) -> Iterator[Document]:
    for section, turns in _sessions(conversation, place):
        dated = f"{section}_date_time"
        said_at = iso_time(shaped(conversation.get(dated, ""), str, f"{place}, {dated}"), f"{place}, {dated}")
        before = ""
        for turn in shaped(turns, list[_Turn], f"{place}, {section}"):
            text = _shown(turn)
            if not text:
                left_out[EMPTY_TURN] += 1
                continue
            meta = {"picture": turn.blip_caption} if turn.blip_caption else {}
            yield Document(turn.dia_id, text, f"{name}/{section}", said_at, turn.speaker, section, before, meta, kind="chat")
            before = f"{turn.speaker}: {text}"


def _sessions(conversation: Any, place: str) -> list[tuple[str, Any]]:
    """Sessions by number; a date without turns is no session."""
    if not isinstance(conversation, dict):
        raise InvalidInput(f"{place}: 'conversation' is not an object; give a file in LoCoMo's format")
    numbered = {int(match[1]): key for key in conversation if (match := _SESSION.fullmatch(key))}
    if not numbered:
        raise InvalidInput(f"{place}: holds no session_1, session_2, …; give a file in LoCoMo's format")
    return [(numbered[number], conversation[numbered[number]] or []) for number in sorted(numbered)]


def _shown(turn: _Turn) -> str:
    """The text and the content of the shared picture, as a reader of the chat would take it in."""
    picture = f"[shares {turn.blip_caption}]" if turn.blip_caption else ""
    return f"{turn.text} {picture}".strip()


def _unique_ids(documents: tuple[Document, ...], place: str) -> set[str]:
    counts = Counter(document.id for document in documents)
    if repeated := [id_ for id_, count in counts.items() if count > 1]:
        raise InvalidInput(f"{place}: several turns are called {repeated[0]!r}; give each its own dia_id")
    return set(counts)
