"""The lines of the exchange format, for whoever reads or writes them. What a line may leave out has a default here."""

from typing import Annotated, Any

import msgspec

Id = Annotated[str, msgspec.Meta(min_length=1)]
Judgement = Annotated[int, msgspec.Meta(ge=-1)]
# A keyword is looked for as whole words, so it needs one.
Keyword = Annotated[str, msgspec.Meta(pattern=r"\w")]

DOCUMENT_FIELDS = ("source", "said_at", "speaker", "section", "before", "kind", "topic")
"""What `meta` of a document may say about it; anything else stays in the document's own `meta`."""


class CorpusLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One document."""

    id: Id = msgspec.field(name="_id")
    text: str
    meta: dict[str, Any] = {}


class QuestionMeta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a question besides its words and its judgements."""

    # Left open: sets of others have numbers here.
    category: Any = ""
    answer: Any = ""
    intent: str = ""
    source_bias: str = ""
    required: tuple[Keyword, ...] = ()
    acceptable: tuple[Keyword, ...] = ()
    forbidden: tuple[Keyword, ...] = ()
    superseded: tuple[Keyword, ...] = ()
    is_answerable: bool = True
    gap: str = ""
    asked_at: str = ""
    group: str = ""
    """what it came from together with others, such as a conversation: a field of the set, not of the question"""


class QueryLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question with its judgements."""

    id: Id = msgspec.field(name="_id")
    text: str
    qrels: dict[str, Judgement]
    meta: QuestionMeta = QuestionMeta()
