"""Spans of OpenTelemetry, where it is installed and somebody records; otherwise a span costs next to nothing.

Between processes a span's identity travels as a `traceparent` of W3C Trace Context, on every envelope. Setting an exporter up is
the business of `runtime/logs.py`, or of the program this library is part of.
"""

import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.context import Context

Kind = Literal["internal", "client", "server", "producer", "consumer"]
Value = str | int | float | bool | list[str]

P = ParamSpec("P")
R = TypeVar("R")
Work: TypeAlias = Callable[P, Coroutine[Any, Any, R]]

_NAME = "hive-mind"
_OF_ONE_RECORD = ("update_memory", "delete_memory")
_captures_queries = False


class Span(Protocol):
    """Something that takes time, and what is known about it."""

    @property
    def traceparent(self) -> str:
        """The header that names it to other processes; "" where nobody records."""

    def note(self, name: str, value: Value) -> None:
        """Say something about it."""


@contextmanager
def span(
    name: str, attributes: Mapping[str, Value] | None = None, *, parent: str = "", kind: Kind = "internal"
) -> Iterator[Span]:
    """For as long as the block runs. `parent` is the traceparent of a span elsewhere; without it, the one around this one.

    An exception that leaves the block is noted on the span.
    """
    if (tracer := _tracer()) is None:
        yield _NOTHING
        return
    from opentelemetry.trace import SpanKind

    within = _context_of(parent) if parent else None
    with tracer.start_as_current_span(name, within, SpanKind[kind.upper()], dict(attributes or {})) as made_span:
        yield _Recorded(made_span)


def operation(name: str) -> Callable[[Work[P, R]], Work[P, R]]:
    """Makes a span of each call of a memory's async method, named as the `gen_ai` conventions name it, such as "search_memory".

    It says whose memory it is, how many records come back and which (ids are digests), and no word of what is in them.
    """

    def of(work: Work[P, R]) -> Work[P, R]:
        @wraps(work)
        async def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
            if _tracer() is None:
                return await work(*args, **kwargs)
            with span(name, {"gen_ai.operation.name": name}) as made_span:
                memory, subject = (*args, None, None)[:2]
                made_span.note("gen_ai.memory.store.id", str(getattr(memory, "store_id", "")))
                if name in _OF_ONE_RECORD:
                    made_span.note("gen_ai.memory.record.id", str(subject))
                elif _captures_queries and name == "search_memory":
                    made_span.note("gen_ai.memory.query.text", str(getattr(subject, "text", subject)))
                result = await work(*args, **kwargs)
                results = result if isinstance(result, list) else [result]
                ids = [str(getattr(getattr(result_part, "fact", result_part), "id", "")) for result_part in results]
                made_span.note("gen_ai.memory.record.count", len(ids))
                made_span.note("hive.record.ids", ids)
                return result

        return recorded

    return of


def record_queries() -> None:
    """Let spans of this process hold what is searched for: off unless a person asks for it."""
    global _captures_queries
    _captures_queries = True


def traceparent() -> str:
    """Of the span around this; "" where nobody records."""
    if _tracer() is None:
        return ""
    from opentelemetry import trace

    return _traceparent_of(trace.get_current_span())


class _Nothing:
    traceparent = ""

    def note(self, name: str, value: Value) -> None:
        """Nobody listens."""


_NOTHING = _Nothing()


class _Recorded:
    def __init__(self, made_span: "trace.Span") -> None:
        self._made_span = made_span

    @property
    def traceparent(self) -> str:
        return _traceparent_of(self._made_span)

    def note(self, name: str, value: Value) -> None:
        self._made_span.set_attribute(name, value)


def _traceparent_of(made_span: "trace.Span") -> str:
    identity = made_span.get_span_context()
    if not identity.is_valid:
        return ""
    return f"00-{identity.trace_id:032x}-{identity.span_id:016x}-{identity.trace_flags:02x}"


def _context_of(traceparent: str) -> "Context":
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})


def _tracer() -> "trace.Tracer | None":
    """None where no provider was set: then nobody records. Somebody who has set one has loaded the package."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace

    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider.get_tracer(_NAME)
