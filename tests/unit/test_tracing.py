import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hive_mind import tracing


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


def test_while_nobody_records_a_span_has_no_name_for_others() -> None:
    with tracing.span("ask") as span:
        span.note("hive.found", 3)
        assert span.traceparent == ""
        assert tracing.traceparent() == ""


def test_a_span_inside_another_belongs_to_it(recorded: InMemorySpanExporter) -> None:
    with tracing.span("outer") as outer, tracing.span("inner", {"gen_ai.operation.name": "search_memory"}):
        assert tracing.traceparent() != outer.traceparent

    inner, whole = recorded.get_finished_spans()
    assert inner.parent is not None
    assert inner.parent.span_id == whole.context.span_id
    assert dict(inner.attributes or {}) == {"gen_ai.operation.name": "search_memory"}


def test_a_span_of_another_process_is_a_parent(recorded: InMemorySpanExporter) -> None:
    with tracing.span("here", kind="client") as here:
        sent = here.traceparent
    with tracing.span("there", parent=sent, kind="server") as there:
        there.note("hive.found", 2)

    first, second = recorded.get_finished_spans()
    assert second.context.trace_id == first.context.trace_id
    assert second.parent is not None
    assert second.parent.span_id == first.context.span_id
    assert second.kind is trace.SpanKind.SERVER
    assert dict(second.attributes or {}) == {"hive.found": 2}


@pytest.mark.parametrize("nonsense", ["x", "00-0-0-00", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "é" * 300])
def test_a_parent_that_is_none_begins_a_trace_of_its_own(recorded: InMemorySpanExporter, nonsense: str) -> None:
    with tracing.span("alone", parent=nonsense):
        pass
    (alone,) = recorded.get_finished_spans()
    assert alone.parent is None


def test_an_error_that_leaves_a_span_is_noted_on_it(recorded: InMemorySpanExporter) -> None:
    with pytest.raises(KeyError), tracing.span("fails"):
        raise KeyError("x")
    (failed,) = recorded.get_finished_spans()
    assert failed.status.status_code is trace.StatusCode.ERROR


def test_without_the_packages_there_are_no_spans() -> None:
    program = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from hive_mind import tracing\n"
        "with tracing.span('x', parent='y') as span: print(repr(span.traceparent), repr(tracing.traceparent()))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "'' ''\n"


@dataclass
class Kept:
    id: str


class Memory:
    store_id = "ada"

    @tracing.operation("search_memory")
    async def search(self, query: str, limit: int) -> list[Kept]:
        assert query
        return [Kept(f"f{number}") for number in range(limit)]

    @tracing.operation("delete_memory")
    async def retract(self, fact_id: str) -> Kept:
        return Kept(fact_id)


def test_an_operation_is_a_span_that_says_whose_memory_and_which_records_not_the_question(recorded: InMemorySpanExporter) -> None:
    assert len(asyncio.run(Memory().search("a secret", 2))) == 2
    asyncio.run(Memory().retract("f7"))

    searched, retracted = recorded.get_finished_spans()
    assert searched.name == "search_memory"
    assert dict(searched.attributes or {}) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.store.id": "ada",
        "gen_ai.memory.record.count": 2,
        "hive.record.ids": ("f0", "f1"),
    }
    assert dict(retracted.attributes or {}) == {
        "gen_ai.operation.name": "delete_memory",
        "gen_ai.memory.store.id": "ada",
        "gen_ai.memory.record.id": "f7",
        "gen_ai.memory.record.count": 1,
        "hive.record.ids": ("f7",),
    }


def test_what_is_searched_for_is_told_only_where_wanted(recorded: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_captures_queries", False)
    tracing.record_queries()
    asyncio.run(Memory().search("Which pump?", 1))
    (searched,) = recorded.get_finished_spans()
    assert (searched.attributes or {})["gen_ai.memory.query.text"] == "Which pump?"
