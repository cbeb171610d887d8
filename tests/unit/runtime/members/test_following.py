"""One question can be followed through all members it reaches: by its spans, and by its name in the logs."""

import asyncio
import logging
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hive_mind.embed.none import NoEmbedder
from hive_mind.runtime.members.fleet import FleetPlan, open_fleet
from hive_mind.runtime.settings import Settings

AGENTS = ("ada", "ben", "cleo", "dan")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


async def ask_all() -> None:
    """A fact of each, one copy of it, and a question of one of them that needs all."""
    plan = FleetPlan("sharded", AGENTS, replicas=1)
    async with await open_fleet(Settings(store="memory"), plan, NoEmbedder()) as fleet:
        for agent in AGENTS:
            await fleet.memory(agent).store_fact("pump", f"The pump of {agent} is watched over every night.")
        await fleet.settled()
        assert len(await fleet.memory("ada").search_facts("whose pump is watched?")) == len(AGENTS)


def test_all_that_a_question_leads_to_is_one_trace_and_has_one_name_in_the_logs_of_all(
    recorded: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="hive_mind"):
        asyncio.run(ask_all())

    spans = recorded.get_finished_spans()
    (search,) = [span for span in spans if span.name == "search_memory"]
    answers = [span for span in spans if span.name == "hive answer" and span.context.trace_id == search.context.trace_id]
    # Three others: the candidates, and the facts themselves, fetched from who holds them. What is kept here needs no message.
    assert len(answers) >= 3 + 1
    known = {span.context.span_id for span in spans}
    assert [span.name for span in spans if span.parent is not None and span.parent.span_id not in known] == []

    hops = [vars(record) for record in caplog.records if "hop" in vars(record)]
    (asked,) = [hop for hop in hops if hop["hop"] == "asks"]
    followed = [hop for hop in hops if hop["correlation"] == asked["correlation"]]
    assert asked["node"] == "ada"
    assert {hop["node"] for hop in followed if hop["hop"] == "answers"} == set(AGENTS) - {"ada"}
    assert [(hop["completeness"], hop["silent"]) for hop in followed if hop["hop"] == "is answered"] == [(1.0, [])]
    # Her own fact she has at home.
    assert [len(hop["facts"]) for hop in hops if hop["hop"] == "fetches"] == [len(AGENTS) - 1]
