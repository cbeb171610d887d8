"""The common parts of printing, for a terminal or a pipe."""

from typing import Protocol

INDENT = 5
"""Columns before what belongs to a line above."""


class ProgressPrinter(Protocol):
    """Takes how much is done of how much (0: nobody knows), with a word on what is under way."""

    def __call__(self, done: float, total: int, what: str = "") -> None: ...
