"""A process as programs see it that watch it: its log as JSON Lines, one object per line, and its spans over OTLP or as lines.

A record's `extra` becomes its fields: `node`, `correlation` (a question, a request), `fact`, … The trace it belongs to is added
where somebody records one, so that logs and spans of one question can be put side by side. Spans are off unless a person asks for
them; a program that sets OpenTelemetry up by itself needs nothing of this: its spans go to whatever provider it has set.
"""

import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

import msgspec

from hive_mind import tracing
from hive_mind.errors import BackendNotInstalled, InvalidInput
from hive_mind.model.gathered import Gathered
from hive_mind.runtime.settings import variable
from hive_mind.tracing import record_queries

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter


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


# The standard's own: what people ask may be personal, so spans have it only where a person says so.
_CAPTURE_QUERIES = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_FORMS = "'console', or the URL of an OTLP collector such as http://127.0.0.1:4318"


def send_spans(to: str, service: str, version: str) -> Callable[[], None]:
    """Record spans of this process as those of a service in a version, and send them to "console" or to an OTLP endpoint.

    Returns what sends the last ones and ends it. Once per process. Raises `InvalidInput`, `BackendNotInstalled`.
    """
    if to != "console" and not to.startswith(("http://", "https://")):
        raise InvalidInput(f"traces go to {_FORMS}, not to {to[:60]!r}")
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
    except ModuleNotFoundError as error:
        raise BackendNotInstalled("traces", to, "otel") from error
    provider = TracerProvider(resource=Resource.create({"service.name": service, "service.version": version}))
    exporter = ConsoleSpanExporter(out=sys.stderr) if to == "console" else _otlp(to)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    if variable(_CAPTURE_QUERIES) == "true":
        record_queries()
    return provider.shutdown


def _otlp(url: str) -> "SpanExporter":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=f"{url.rstrip('/')}/v1/traces")
