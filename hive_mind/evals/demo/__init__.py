"""A small world to try everything on: eight months in the life of a tidal power cooperative, and questions about them.

Written for this project; the island, its people and its rules are invented. The conversations, notes and logs hold what makes
remembering hard: figures that change, pumps and rules with nearly the same name, "last Friday". Measuring is left to the caller.
"""

from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, get_args

import msgspec

from hive_mind.model.content import Content

Kind = Literal["who", "when", "what", "number", "identifier", "multi-hop", "changed", "unanswerable"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question as somebody might ask it.

    `evidence` quotes the documents, any one quote answers it (a multi-hop question needs them all); none: it can't be answered.
    An answer is good when it holds one of the `keywords`.
    """

    id: str
    question: str
    kind: Kind
    evidence: tuple[str, ...]
    keywords: tuple[str, ...]


def documents() -> list[Content]:
    """The documents by file name, which is their source."""
    folder = files(__name__).joinpath("documents")
    named = sorted((file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir())
    return [Content(text, source=name) for name, text in named]


def questions() -> list[DemoQuestion]:
    """The questions in the order of the file."""
    lines = files(__name__).joinpath("questions.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=DemoQuestion) for line in lines]
