"""The logs of this package as JSON Lines, one object per line, for programs that collect logs.

A record's `extra` becomes its fields: `node`, `correlation` (a question, a request), `fact`, … The trace it belongs to is added
where somebody records one, so that logs and spans of one question can be put side by side.
"""

import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

import msgspec

from hive_mind import tracing
from hive_mind.model.gathered import Gathered

_LOGGER = "hive_mind"
# The fields of every record; the rest was given as `extra`.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Formats records as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: _plain(value) for name, value in vars(record).items() if name not in _OWN}
        if trace := tracing.traceparent():
            line["traceparent"] = trace
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def hop(log: logging.Logger, step: str, *, node: str, correlation: str, outcome: Gathered | None = None, **more: object) -> None:
    """One step of a question on its way through the hive, at debug level; `correlation` names it in every process."""
    if log.isEnabledFor(logging.DEBUG):
        if outcome is not None:
            more |= {"completeness": outcome.completeness, "asked": list(outcome.asked), "silent": list(outcome.silent)}
        log.debug("%s %s %s", node, step, correlation, extra={"node": node, "hop": step, "correlation": correlation, **more})


def log_as_json(level: int = logging.INFO, stream: TextIO | None = None) -> logging.Handler:
    """Let this package log JSON Lines to stderr, or a stream, and nothing elsewhere. Returns the handler, to remove it by."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger(_LOGGER)
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    return handler


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | list | None) else str(value)
