"""Texts that a run keeps in files: results, former conversations, and `adapt.md`, its agent's working memory.

A conversation shows of a long result its beginning and the name of the file that holds all of it. One that grows too long is
moved to files itself, so that nothing is lost and every pointer stays. Tier 1 moves what was said and keeps calls and results,
which are small or pointers already. Tier 2, where that is not enough, moves older calls and results too, and keeps one list of
the files they name. It is a step of the run: folding the steps again gives the conversation that was in memory, to the letter.

The agent and people write to `adapt.md`, and each of the agent's prompts contains it. `## Identity` is seeded once, `## Rules` is
free for agent and people, `## Outputs` has one line for each output of runs that were accepted: an output belongs to its run
until then. The program only ever changes that section; a person's text stays.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from hive_mind.model.content import BYTES_PER_TOKEN, Message
from hive_mind.regex import regex

SHOWN_CHARACTERS_MAX = 30_000
"""of a result or of a part of a file that a conversation shows"""
LINE_CHARACTERS = 2_000
"""`load_data` counts a longer line as several, so that every file can be read to its end"""
NEVER_SAVED = frozenset(("load_data", "set_output", "report_to_parent", "mark_complete", "ask_person", "wait_for_response"))
_NAME = regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SHOWN_POINTER = regex(r"\n\[(?:Saved to '|Result from )[^\n]*\]\Z")
_NUMBERED = regex(r".+_(\d+)\.txt")
_TOOL_CHARACTERS = 60
_HINT = "Use offset/limit parameters to read smaller chunks."

COMPACT_FROM = 0.8
"""Of the tokens a conversation may have."""
KEPT = 4
"""The last messages stay as they are; more where a call would lose its result."""
_POINTER = regex(r"(?<![A-Za-z0-9_.:-])[A-Za-z0-9_.:-]+_\d+\.(?:txt|md)")
_REFERENCE = "[Previous conversation saved to '{file}'. Use load_data('{file}') to review if needed.]"
_LIST = "[Files named in it: {files}]"

ADAPT = "adapt.md"
ADAPT_CHARACTERS_MAX = 20_000
ADAPT_VALUE_CHARACTERS = 500
_OUTPUTS = "## Outputs"
_HEADING = regex(r"^## ", re.MULTILINE)


def json_of(value: Any, **form: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, **form)


def as_text(value: Any) -> str:
    """A result as it is saved: JSON in lines, a text that is JSON likewise, any other text as it is."""
    if not isinstance(value, str):
        return json_of(value, indent=2)
    if not value.startswith(("{", "[")):
        return value
    try:
        return json_of(json.loads(value), indent=2)
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
    if len(text) <= SHOWN_CHARACTERS_MAX:
        return f"{text}\n[Saved to '{file}']" if file else text
    if not file:
        return f"{text[:SHOWN_CHARACTERS_MAX]}\n[Only first {SHOWN_CHARACTERS_MAX:,} chars shown]"
    note = f"{len(text):,} chars — too large for context, saved to '{file}'"
    pointer = f"[Result from {tool}: {note}. Use load_data(filename='{file}') to read the full result.]"
    return f"{text[:SHOWN_CHARACTERS_MAX]}\n{pointer}"


def without_pointer(text: str) -> str:
    """The text of `shown` without the file's name: the same result in two files is one."""
    return _SHOWN_POINTER.sub("", text)


def is_plain_name(file: str) -> bool:
    """Whether it names a file in the folder itself, and nothing else."""
    return bool(_NAME.fullmatch(file)) and ".." not in file


def part(text: str, file: str, offset: int, limit: int) -> str:
    """Lines `offset` (from 0) and on, at most `limit` and at most what a conversation shows, and how to go on."""
    lines = [
        line[start : start + LINE_CHARACTERS]
        for line in text.splitlines(keepends=True)
        for start in range(0, len(line), LINE_CHARACTERS)
    ]
    chosen = lines[offset : offset + limit]
    while len(whole := "".join(chosen)) > SHOWN_CHARACTERS_MAX:
        chosen = chosen[: max(1, len(chosen) * SHOWN_CHARACTERS_MAX // len(whole) - 1)]
    end = offset + len(chosen)
    if end >= len(lines):
        return whole or f"[{file} has {len(lines):,} lines; there is nothing from line {offset:,} on]"
    return f"{whole}\n[Lines {offset:,} to {end - 1:,} of {len(lines):,}; go on with offset={end}. {_HINT}]"


def tokens_of(messages: Sequence[Message]) -> int:
    """How many tokens these are, rather too many than too few."""
    calls = [call for message in messages for call in message.calls]
    characters = sum(len(call.name) + len(json.dumps(call.arguments, default=str)) for call in calls)
    return (characters + sum(len(message.text.encode(errors="replace")) + 16 for message in messages)) // BYTES_PER_TOKEN


def is_due(messages: Sequence[Message], context_tokens: int) -> bool:
    """Whether there is something to move, and reason to."""
    return tokens_of(messages) > COMPACT_FROM * context_tokens and movable(messages) > 0


def movable(messages: Sequence[Message]) -> int:
    """How many of the first messages may be moved: calls and their results stay together."""
    end = max(0, len(messages) - KEPT)
    while end > 0 and messages[end].role == "tool":
        end -= 1
    return end if any(message.text or message.calls for message in messages[1:end]) else 0


def tier_for(messages: Sequence[Message], count: int, context_tokens: int) -> int:
    """1 where moving the text is enough."""
    return 1 if tokens_of(compacted(messages, "conversation_0000.md", count, 1)) <= COMPACT_FROM * context_tokens else 2


def compacted(messages: Sequence[Message], file: str, count: int, tier: int) -> tuple[Message, ...]:
    """The conversation after its first `count` messages were moved to a file."""
    moved, rest = messages[:count], messages[count:]
    reference = _REFERENCE.format(file=file)
    if tier > 1:
        files_named = dict.fromkeys(name for message in moved for name in pointers_in(message) if name != file)
        text = "\n".join((reference, *([_LIST.format(files=", ".join(files_named))] if files_named else [])))
        return (Message("user", text), *rest)
    # Notes of an earlier compaction: its file is not listed anywhere else in the conversation.
    lines = [line for message in moved if message.role == "user" for line in message.text.splitlines()]
    notes = [line for line in lines if line.startswith(("[Previous conversation saved to ", "[Files named in it: "))]
    kept_messages = [
        Message("assistant", "", message.calls) if message.role == "assistant" else message
        for message in moved
        if message.role == "tool" or message.calls
    ]
    return (Message("user", "\n".join((*notes, reference))), *kept_messages, *rest)


def transcript(messages: Iterable[Message]) -> str:
    """The text for the file: every word, and the calls between them."""
    parts = []
    for message in messages:
        title = f"## {message.role}{f' ({message.name})' if message.name else ''}"
        calls = "".join(f"\n→ {call.name}({json_of(call.arguments)})" for call in message.calls)
        parts.append(f"{title}\n{message.text}{calls}\n")
    return "\n".join(parts)


def pointers_in(message: Message) -> list[str]:
    return _POINTER.findall(message.text)


def adapt_seeded(identity: str) -> str:
    """The first text of `adapt.md`."""
    return f"## Identity\n{identity.strip() or 'An agent of hive-mind.'}\n\n## Rules\n\n{_OUTPUTS}\n"


def with_output(text: str, key: str, value: Any) -> str:
    """With the line of this output, in place of the one it had. A line that would not fit is left out."""
    before, section, after = _around(text)
    lines, prefix, line = section.split("\n"), f"- {key}: ", json_of(value)
    line = prefix + (line if len(line) <= ADAPT_VALUE_CHARACTERS else f"{line[: ADAPT_VALUE_CHARACTERS - 1]}…")
    at = next((number for number, line in enumerate(lines) if line.startswith(prefix)), None)
    if at is not None:
        lines[at] = line
    else:
        end = max((number for number, line in enumerate(lines) if line.strip()), default=0)
        lines.insert(end + 1, line)
    changed = before + "\n".join(lines) + after
    return changed if len(changed) <= ADAPT_CHARACTERS_MAX else text


def outputs_in(text: str) -> frozenset[str]:
    _, section, _ = _around(text)
    return frozenset(line for line in section.split("\n")[1:] if line.strip())


def _around(text: str) -> tuple[str, str, str]:
    """The text before the section of outputs, the section with its heading, and the text behind it."""
    start = next((match.start() for match in re.finditer(r"^## Outputs\s*$", text, re.MULTILINE)), None)
    if start is None:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return text + gap, f"{_OUTPUTS}\n", ""
    following = _HEADING.search(text, start + len(_OUTPUTS))
    end = following.start() if following else len(text)
    section = text[start:end]
    return text[:start], section if section.endswith("\n") else f"{section}\n", text[end:]
