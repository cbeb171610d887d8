"""Sends spans somewhere: to a collector over OTLP, or as lines to stderr. Off unless a person asks for it.

A program that sets OpenTelemetry up by itself needs nothing of this: spans go to whatever provider it has set.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from hive_mind import __version__
from hive_mind.errors import BackendNotInstalled, InvalidInput
from hive_mind.runtime.settings import variable
from hive_mind.tracing import record_queries

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

# The standard's own: what people ask may be personal, so spans have it only where a person says so.
_CAPTURE_QUERIES = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_FORMS = "'console', or the URL of an OTLP collector such as http://127.0.0.1:4318"


def send_spans(to: str, service: str) -> Callable[[], None]:
    """Record spans of this process as those of `service`, and send them to "console" or to an OTLP endpoint.

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
    provider = TracerProvider(resource=Resource.create({"service.name": service, "service.version": __version__}))
    exporter = ConsoleSpanExporter(out=sys.stderr) if to == "console" else _otlp(to)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    if variable(_CAPTURE_QUERIES) == "true":
        record_queries()
    return provider.shutdown


def _otlp(url: str) -> "SpanExporter":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=f"{url.rstrip('/')}/v1/traces")
