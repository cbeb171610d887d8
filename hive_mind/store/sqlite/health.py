"""How a record is: what of it was found damaged, and whether its last write failed. Written by its thread, read by anybody."""

import logging
from dataclasses import dataclass, field
from pathlib import Path

from hive_mind.errors import HiveError

_log = logging.getLogger(__name__)

_DAMAGED_MAX, _NAMED_MAX = 1000, 3


@dataclass(slots=True)
class Health:
    """Of the record in the file `path`."""

    path: Path
    damaged: dict[str, None] = field(default_factory=dict)
    """what was left out, each by its name, the first thousand"""
    failure: str = ""
    """of the last write"""

    @property
    def trouble(self) -> str:
        """One line for a person, "" where all is well."""
        if self.failure:
            return self.failure
        if not self.damaged:
            return ""
        named = ", ".join(list(self.damaged)[:_NAMED_MAX]) + (", …" if len(self.damaged) > _NAMED_MAX else "")
        return f"{self.path}: {len(self.damaged)} damaged and left out ({named}); see: hive-mind doctor --repair"

    def note_damage(self, what: str) -> None:
        """Remember that something was left out because it is damaged, and say so once."""
        if what in self.damaged or len(self.damaged) >= _DAMAGED_MAX:
            return
        self.damaged[what] = None
        _log.error("%s: %s is damaged and left out; see: hive-mind doctor --repair", self.path, what)

    def note_failure(self, error: HiveError) -> None:
        """Remember that a write failed, until one succeeds."""
        self.failure = str(error)
