"""A setting that a person writes: a field of its part's own dataclass, with its bounds beside it. Its docstring is its help.

    period_ms: Annotated[int, Setting("period_s", gt=0, le=3600, per=1000)] = 10_000
    \"\"\"Time between two rounds of a node.\"\"\"

Sections of a manifest are made of such fields, and so are its schema, its help and the words of a plan. Fields without the mark
are for those who build the part.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Setting:
    """The bounds that a value has to be within, and how it is written where that differs from the field."""

    name: str = ""
    """Its name there; with a section and a dot before it where a dataclass has the fields of several."""
    gt: float | None = None
    ge: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    per: int = 1
    """How many of the field's units are one of those written: 1000 for milliseconds that are written as seconds."""

    def written(self, value: Any) -> Any:
        """A value of the field as a person writes it."""
        return value / self.per if self.per > 1 else value


SHARE = Setting(ge=0.0, le=1.0)
"""A number from 0 to 1."""
