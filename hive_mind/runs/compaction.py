"""A conversation that grows too long is moved to files, so that nothing is lost and every pointer stays.

Tier 1 moves what was said and keeps calls and results, which are small or pointers already. Tier 2, where that is not enough,
moves older calls and results too, and keeps one list of the files they name. It is a step of the run: folding the steps again
gives the conversation that was in memory, to the letter.
"""

import json
from collections.abc import Iterable, Sequence

from hive_mind.model.dialogue import BYTES_PER_TOKEN, Message
from hive_mind.regex import regex

COMPACT_FROM = 0.8
"""Of the tokens a conversation may have."""
KEPT = 4
"""The last messages stay as they are; more where a call would lose its result."""
_POINTER = regex(r"(?<![A-Za-z0-9_.:-])[A-Za-z0-9_.:-]+_\d+\.(?:txt|md)")
_REFERENCE = "[Previous conversation saved to '{file}'. Use load_data('{file}') to review if needed.]"
_LIST = "[Files named in it: {files}]"


def tokens_of(messages: Iterable[Message]) -> int:
    """How many tokens these are, rather too many than too few."""
    return sum(_size(message) for message in messages) // BYTES_PER_TOKEN


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
    earlier = [line for message in moved if message.role == "user" for line in message.text.splitlines() if _is_note(line)]
    kept_messages = [_without_text(message) for message in moved if message.role == "tool" or message.calls]
    return (Message("user", "\n".join((*earlier, reference))), *kept_messages, *rest)


def transcript(messages: Iterable[Message]) -> str:
    """The text for the file: every word, and the calls between them."""
    return "\n".join(_message_text(message) for message in messages)


def pointers_in(message: Message) -> list[str]:
    return _POINTER.findall(message.text)


def _message_text(message: Message) -> str:
    title = f"## {message.role}{f' ({message.name})' if message.name else ''}"
    calls = "".join(f"\n→ {call.name}({json.dumps(call.arguments, ensure_ascii=False, default=str)})" for call in message.calls)
    return f"{title}\n{message.text}{calls}\n"


def _without_text(message: Message) -> Message:
    return Message("assistant", "", message.calls) if message.role == "assistant" else message


def _is_note(line: str) -> bool:
    """Of an earlier compaction: its file is not listed anywhere else in the conversation."""
    return line.startswith(("[Previous conversation saved to ", "[Files named in it: "))


def _size(message: Message) -> int:
    calls = sum(len(call.name) + len(json.dumps(call.arguments, default=str)) for call in message.calls)
    return len(message.text.encode(errors="replace")) + calls + 16
