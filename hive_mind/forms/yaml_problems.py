"""PyYAML's errors, reworded for the person who wrote the file."""

import yaml

from hive_mind.errors import Problem

_WORDS = (
    ("'\\t'", "a tab; use spaces"),
    ("single document", "a second document begins (---); keep one in a file"),
    ("undefined alias", "an alias (*name) without its anchor (&name) before it; text that begins with * must be in quotes"),
    ("duplicate anchor", "the same anchor (&name) twice; give one of them another name"),
    ("mapping values are not allowed", "a colon where none can be; put text with a colon in quotes, or look at the indentation"),
    ("expected ':'", "a key without its colon, or text that is not indented enough"),
    ("unexpected end of stream", "something in quotes or brackets has no end"),
    ("expected <block end>", "does not line up with the lines above; look at the indentation, and at quotes inside quotes"),
    ("cannot start any token", "text that begins with one of @ ` % must be in quotes"),
    ("expected alphabetic or numeric", "* and & need a name after them; text that begins with one must be in quotes"),
    ("expected ',' or", "a bracket that is never closed, a comma too few, or text with a colon that is not in quotes"),
    ("unknown escape", 'unknown escape sequence after \\ in "…"; use single quotes, or write \\\\'),
)


def in_our_words(error: yaml.YAMLError, text: str, whole: str) -> Problem:
    """Where it is and what to do. `whole` is what such a file is called."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return Problem(whole, line, "a control character, which YAML does not take; remove it")
    if not isinstance(error, yaml.MarkedYAMLError):
        return Problem(whole, 0, f"this is not YAML: {error}")
    line = _line(error)
    if _is_indented_with_tab(text, line):
        return Problem(whole, line, "a tab; use spaces")
    said = f"{error.context or ''} {error.problem or ''}"
    for theirs, ours in _WORDS:
        if theirs in said:
            return Problem(whole, line, ours.replace("keep one ", f"keep one {whole} "))
    return Problem(whole, line, f"this is not YAML: {said.strip()}")


def _line(error: yaml.MarkedYAMLError) -> int:
    """Where the trouble begins: what has no end is found out at the end of the file."""
    mark = error.problem_mark or error.context_mark
    if error.context_mark and error.problem and "end of stream" in error.problem:
        mark = error.context_mark
    return int(mark.line) + 1 if mark else 0


def _is_indented_with_tab(text: str, line: int) -> bool:
    lines = text.splitlines()
    here = lines[line - 1] if 0 < line <= len(lines) else ""
    return "\t" in here[: len(here) - len(here.lstrip())]
