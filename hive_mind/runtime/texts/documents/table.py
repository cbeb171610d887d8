"""Rows of cells as a table of Markdown, which keeps each row with the titles of its columns."""

from collections.abc import Iterable, Iterator, Sequence

from hive_mind.regex import regex

_DIGIT = regex(r"\d")
_TITLE_CHARS_MAX = 60


def table_lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of text. Empty rows part tables; a row of one cell stands above one as text; a first row of titles is its header."""
    begins = True
    for row in rows:
        cells = [" ".join(cell.replace("|", "/").split()) for cell in row]
        filled = sum(map(bool, cells))
        if filled == 0:
            yield from () if begins else ("",)
            begins = True
        elif begins and filled == 1:
            yield from ("", next(filter(None, cells)), "")
        else:
            yield f"| {' | '.join(cells)} |"
            if begins and are_titles(cells):
                yield "|" + " --- |" * len(cells)
            begins = False
    yield ""


def are_titles(cells: Sequence[str]) -> bool:
    """Whether these name columns: words, and not one of them twice."""
    names = [cell.casefold() for cell in cells if cell]
    are_words = all(len(name) <= _TITLE_CHARS_MAX and any(map(str.isalpha, name)) for name in names)
    return (
        len(names) > 1
        and are_words
        and len(set(names)) == len(names)
        and sum(bool(_DIGIT.search(n)) for n in names) * 2 < len(names)
    )
