"""The form of an answer that quotes: a line, then each quotation in marks, and what is said of it."""

from collections.abc import Sequence
from itertools import pairwise


def quotations(text: str, contents: Sequence[str]) -> tuple[str, list[str]]:
    """A quoted answer's first line, and the quotation of each source with what is said of it; none where it quotes otherwise."""
    starts: list[int] = []
    for content in contents:
        at = text.find(f"\n“{content}”", starts[-1] if starts else 0)
        if at < 0:
            return text, []
        starts.append(at + 1)
    return text[: starts[0] - 1] if starts else text, [text[a:b].rstrip("\n") for a, b in pairwise([*starts, len(text)])]
