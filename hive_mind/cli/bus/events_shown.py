"""How envelopes, queues and dead letters look on a terminal."""

import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

from hive_mind.bus.base import DeadLetter, Envelope, QueueState
from hive_mind.bus.codec import as_cloud_event
from hive_mind.cli.options import Format
from hive_mind.cli.output import show, show_table

# Of bytes that are no message; who needs more of them uses --output json.
_BYTES_SHOWN = 256


def show_line(envelope: Envelope, output: Format) -> None:
    """One message, one line, at once."""
    if output is Format.JSON:
        sys.stdout.buffer.write(msgspec.json.encode(as_cloud_event(envelope)) + b"\n")
    else:
        time = _time(envelope.sent_ms) if envelope.sent_ms else _now()
        targets = ", ".join(envelope.target)
        show(" ".join(filter(None, (time, envelope.sender, "→", targets, envelope.type, envelope.correlation_id))))
    sys.stdout.flush()


def queue_row(queue: QueueState) -> tuple[str, ...]:
    """A line of `stats`; what the broker does not tell is a question mark."""
    figures = (queue.waiting, queue.unacknowledged, queue.dead)
    oldest = "" if queue.oldest_s is None else f"{queue.oldest_s:.1f} s"
    return (queue.name, *("?" if figure is None else str(figure) for figure in figures), oldest)


def letter_row(letter: DeadLetter) -> tuple[str, ...]:
    """A line of `dlq list`."""
    kind = "unreadable" if letter.envelope is None else letter.envelope.type
    return letter.id, letter.name, _time(letter.at_ms), str(letter.attempts), kind, letter.reason


def letter_fields(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter as JSON, without its message."""
    fields = {"id": letter.id, "name": letter.name, "attempts": letter.attempts, "reason": letter.reason, "at_ms": letter.at_ms}
    if letter.envelope is None:
        return {**fields, "data": letter.data}
    return {**fields, "type": letter.envelope.type, "sender": letter.envelope.sender, "envelope": letter.envelope.id}


def show_letter(letter: DeadLetter) -> None:
    """Everything about one."""
    rows = [("id", letter.id), ("for", letter.name), ("put aside", _time(letter.at_ms)), ("attempts", str(letter.attempts))]
    rows.append(("reason", letter.reason))
    if (envelope := letter.envelope) is not None:
        rows += [("type", envelope.type), ("from", envelope.sender), ("to", ", ".join(envelope.target))]
        rows += [("envelope", envelope.id), ("belongs to", envelope.correlation_id), ("trace", envelope.trace)]
    show_table(["", ""], [row for row in rows if row[1]])
    show()
    if envelope is None:
        show(f"{len(letter.data)} bytes that are no message: {letter.data[:_BYTES_SHOWN].hex(' ')}")
    else:
        message = msgspec.to_builtins(envelope.message, enc_hook=str)
        show(msgspec.json.format(msgspec.json.encode(message), indent=2).decode())


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00") if ms else ""


def _now() -> str:
    return _time(int(datetime.now(UTC).timestamp() * 1000))
