"""A file that can't be used, with what has to be said of it: line, path and the whole message."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bad:
    """`says`: line, path and message of every error, in order."""

    name: str
    text: str | bytes
    says: tuple[tuple[int, str, str], ...] = ()


def text(name: str, text: str | bytes, *says: tuple[int, str, str]) -> Bad:
    return Bad(name, text, says)
