"""A kind of file: what it is called, what stands in it, how large it gets, and where its writer finds help."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel

from hive_mind.forms.tree import TooMuch

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Form(Generic[M]):
    """What the reading of a file depends on. Names of fields are those that stand in the file."""

    name: str
    """In messages, and the path of what is about the whole file: "manifest"."""
    model: type[M]
    begin: str
    """How to begin, for an empty file: "begin with `hive-mind manifest init`"."""
    help: str
    """Where its fields are explained; a path may follow: "hive-mind manifest explain"."""
    syntax: Literal["yaml", "json"] = "yaml"
    bytes_max: int = 1_000_000
    values_max: int = 50_000
    depth_max: int = 30
    levels: str = "six"
    """How deep it gets in earnest."""
    fewer: str = ""
    """What to do about too many values."""
    secret: frozenset[str] = frozenset()
    """Keys whose value is not repeated: what stands there by mistake may be the secret itself."""
    patterns: Mapping[str, str] = field(default_factory=dict)
    """What text has to look like, in words, for each regular expression of the model."""
    in_short: Mapping[str, str] = field(default_factory=dict)
    """Sections that may be written as one word, by their path, and the field that word is."""

    def bound(self, line: int, depth: int, count: int) -> None:
        """Raises `TooMuch` for what is deeper or larger than any such file."""
        if depth > self.depth_max:
            raise TooMuch(line, f"nested deeper than {self.depth_max}; a {self.name} needs {self.levels} levels")
        if count > self.values_max:
            raise TooMuch(line, f"more than {self.values_max:,} values{self.fewer}")
