"""What a model wants to read before a question or a passage.

Models trained with an instruction lose several points without it. A model's own prompts come first; the English bge
models publish theirs only in prose, so it is repeated here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from hive_mind.regex import regex

_BGE_ENGLISH = regex(r"bge-(small|base|large)-en(-v1(\.5)?)?", re.IGNORECASE)
_BGE_QUERY = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class Prompts:
    """Text put in front, with its own trailing space; "" for none."""

    query: str = ""
    passage: str = ""


def prompts_of(model: str, own: Mapping[str, str]) -> Prompts:
    """`own` are the prompts the model brings along, by sentence-transformers' names: query, document or passage."""
    passage = own.get("document") or own.get("passage") or ""
    query = own.get("query") or ""
    if not query and _BGE_ENGLISH.fullmatch(PurePath(model).name.partition("#")[0]):
        query = _BGE_QUERY
    return Prompts(query, passage)
