"""What can be asked of an agent about the bus of its hive: messages that could not be handled, and what lies there for whom."""

from typing import Any

import msgspec

from hive_mind.bus.base import DeadLetter
from hive_mind.runtime.inquiry.asked_agent import AskedAgent
from hive_mind.runtime.reply_types import DeadLetters, DeadLetterTold, LettersMoved
from hive_mind.runtime.requests import Call, request

# A person reads the beginning; `hive-mind events dlq show` has the whole.
_CHARACTERS_SHOWN = 2000
_BYTES_SHOWN = 256


class BusCalls(AskedAgent):
    """A part of `runtime.calls.AgentCalls`."""

    @request("limit", gives=DeadLetters)
    async def _do_dead_letters(self, call: Call) -> Any:
        """Messages of the hive that could not be handled, oldest first; and what lies on its bus for whom."""
        runner = self._member.runner
        letters = await runner.bus.dead_letters(runner.hive, limit=max(call.limit, 1))
        queues = await runner.bus.queues(runner.hive)
        shown = ({"name": q.name, "waiting": q.waiting, "unacknowledged": q.unacknowledged, "dead": q.dead} for q in queues)
        return {"letters": [_letter_told(letter) for letter in letters], "queues": list(shown)}

    @request(needs=("letters",), gives=LettersMoved)
    async def _do_replay(self, call: Call) -> Any:
        """Deliver dead letters again, each to the node it was put aside for. Those that can't be read stay."""
        runner = self._member.runner
        return {"count": await runner.bus.replay(runner.hive, call.letters)}

    @request(needs=("letters",), gives=LettersMoved)
    async def _do_drop(self, call: Call) -> Any:
        """Forget dead letters for good."""
        runner = self._member.runner
        return {"count": await runner.bus.drop(runner.hive, call.letters)}


def _letter_told(letter: DeadLetter) -> DeadLetterTold:
    envelope = letter.envelope
    return {
        "id": letter.id,
        "name": letter.name,
        "at_ms": letter.at_ms,
        "attempts": letter.attempts,
        "reason": letter.reason,
        "type": envelope.type if envelope else "unreadable",
        "sender": envelope.sender if envelope else "",
        "message": _message_told(letter),
    }


def _message_told(letter: DeadLetter) -> str:
    if letter.envelope is None:
        return f"{len(letter.data)} bytes that are no message: {letter.data[:_BYTES_SHOWN].hex(' ')}"
    text = msgspec.json.encode(msgspec.to_builtins(letter.envelope.message, enc_hook=str)).decode()
    return text if len(text) <= _CHARACTERS_SHOWN else f"{text[:_CHARACTERS_SHOWN]} …"
