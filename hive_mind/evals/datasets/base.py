"""The form of every data set in the rest of the program, whatever file it came from.

A data set is a list of scopes; a question is asked of the documents of its own scope and of no others. Input that a loader could
not use is counted with its reason, so that no figure is printed over a silently smaller set.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace


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
    scopes = [_prefixed(scope) for scope in dataset.scopes]
    everything = Scope(
        dataset.name,
        tuple(document for scope in scopes for document in scope.documents),
        tuple(question for scope in scopes for question in scope.questions),
    )
    return replace(dataset, scopes=(everything,))


def merged(name: str, datasets: list[Dataset]) -> Dataset:
    """Data sets read from several files as one; their scopes have different names."""
    left_out: Counter[str] = Counter()
    for dataset in datasets:
        left_out.update(dataset.left_out)
    scopes = tuple(scope for dataset in datasets for scope in dataset.scopes)
    groups = {f"{scope.name}/{one.id}": scope.name for scope in scopes for one in scope.questions} if len(scopes) > 1 else {}
    return Dataset(name, scopes, dict(left_out), sum(dataset.mended for dataset in datasets), groups)


def _prefixed(scope: Scope) -> Scope:
    def unique(id_: str) -> str:
        return f"{scope.name}/{id_}"

    def section(document: Document) -> str:
        # Every conversation has a first session, and they are not the same.
        return document.section and unique(document.section)

    return Scope(
        scope.name,
        tuple(replace(document, id=unique(document.id), section=section(document)) for document in scope.documents),
        tuple(
            replace(question, id=unique(question.id), relevant={unique(d): j for d, j in question.relevant.items()})
            for question in scope.questions
        ),
    )
