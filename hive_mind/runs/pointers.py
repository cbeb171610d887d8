"""Results as files: what a conversation shows of a result, and the names of the files that hold all of it."""

import json
import re
from typing import Any

from hive_mind.regex import regex

CHARACTERS_MAX = 30_000
"""of a result or of a part of a file that a conversation shows"""
LINE_CHARACTERS = 2_000
"""`load_data` counts a longer line as several, so that every file can be read to its end"""
NEVER_SAVED = frozenset(("load_data", "set_output", "report_to_parent", "mark_complete", "ask_person", "wait_for_response"))
_NAME = regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SHOWN_POINTER = regex(r"\n\[(?:Saved to '|Result from )[^\n]*\]\Z")
_NUMBERED = regex(r".+_(\d+)\.txt")
_TOOL_CHARACTERS = 60
_HINT = "Use offset/limit parameters to read smaller chunks."


def as_text(value: Any) -> str:
    """A result as it is saved: JSON in lines, a text that is JSON likewise, any other text as it is."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)
    if not value.startswith(("{", "[")):
        return value
    try:
        return json.dumps(json.loads(value), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return value


def file_of(tool: str, number: int) -> str:
    """The file of a result: a plain name, whatever the tool is called."""
    name = re.sub(r"\.{2,}|[^A-Za-z0-9_.-]", "_", tool)[:_TOOL_CHARACTERS].lstrip("_.-")
    return f"{name or 'result'}_{number}.txt"


def number_of(file: str) -> int:
    """The number in the name of such a file; 0 for another."""
    match = _NUMBERED.fullmatch(file)
    return int(match[1]) if match else 0


def shown(tool: str, text: str, file: str) -> str:
    """The text in the conversation for a result that was saved; for one that was not, where `file` is ""."""
    if not file:
        return text if len(text) <= CHARACTERS_MAX else f"{text[:CHARACTERS_MAX]}\n[Only first {CHARACTERS_MAX:,} chars shown]"
    if len(text) <= CHARACTERS_MAX:
        return f"{text}\n[Saved to '{file}']"
    note = f"{len(text):,} chars — too large for context, saved to '{file}'"
    pointer = f"[Result from {tool}: {note}. Use load_data(filename='{file}') to read the full result.]"
    return f"{text[:CHARACTERS_MAX]}\n{pointer}"


def without_pointer(text: str) -> str:
    """The text of `shown` without the file's name: the same result in two files is one."""
    return _SHOWN_POINTER.sub("", text)


def is_plain_name(file: str) -> bool:
    """Whether it names a file in the folder itself, and nothing else."""
    return bool(_NAME.fullmatch(file)) and ".." not in file


def lines_of(text: str) -> list[str]:
    """The lines that `load_data` counts, with their ends."""
    return [
        line[start : start + LINE_CHARACTERS]
        for line in text.splitlines(keepends=True)
        for start in range(0, len(line), LINE_CHARACTERS)
    ]


def part(text: str, file: str, offset: int, limit: int) -> str:
    """Lines `offset` (from 0) and on, at most `limit` and at most what a conversation shows, and how to go on."""
    lines = lines_of(text)
    chosen = lines[offset : offset + limit]
    whole = "".join(chosen)
    while len(whole) > CHARACTERS_MAX:
        chosen = chosen[: max(1, len(chosen) * CHARACTERS_MAX // len(whole) - 1)] if len(chosen) > 1 else chosen
        whole = "".join(chosen)
    end = offset + len(chosen)
    if end >= len(lines):
        return whole or f"[{file} has {len(lines):,} lines; there is nothing from line {offset:,} on]"
    return f"{whole}\n[Lines {offset:,} to {end - 1:,} of {len(lines):,}; go on with offset={end}. {_HINT}]"
