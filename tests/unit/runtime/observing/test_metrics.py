import urllib.request
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from hive_mind.bus import BusHealth
from hive_mind.errors import BackendError
from hive_mind.runtime import metrics
from hive_mind.runtime.metrics import HiveCollector, NodeFigures
from hive_mind.runtime.node import BOUNDS_S, Histogram, Timings


def figures() -> NodeFigures:
    asked = Histogram()
    asked.observe(0.003)
    asked.observe(99.0)
    health = BusHealth(is_connected=True, reconnects=1, redelivered=2, duplicates=3, dead_letters=4, unreadable={"malformed": 5})
    return NodeFigures("n1", 10, 2, 5, 7, 1, health, {"a wrong seal": 6}, {"ask": asked})


def told(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(value for name, value in sorted(sample.labels.items()) if name != "node")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_figure_of_a_node_is_told() -> None:
    registry = CollectorRegistry()
    registry.register(HiveCollector(lambda: [figures()]))

    said = told(generate_latest(registry).decode())

    figures_of_one_name = {
        "hive_facts": 10,
        "hive_outbox_parcels": 2,
        "hive_replica_lag_dots": 5,
        "hive_inbox_waiting": 7,
        "hive_sends_lost_total": 1,
        "hive_bus_connected": 1,
        "hive_bus_reconnects_total": 1,
        "hive_bus_redeliveries_total": 2,
        "hive_bus_duplicates_total": 3,
        "hive_bus_dead_letters_total": 4,
    }
    assert {name: said[name,] for name in figures_of_one_name} == figures_of_one_name
    assert said["hive_bus_unreadable_total", "malformed"] == 5
    assert said["hive_refused_total", "a wrong seal"] == 6
    assert [said["hive_operation_seconds_bucket", within_s, "ask"] for within_s in ("0.0025", "0.005", "+Inf")] == [0, 1, 2]
    assert said["hive_operation_seconds_sum", "ask"] == pytest.approx(99.003)


@pytest.fixture
def served() -> Iterator[int]:
    server = metrics.serve(lambda: [figures()], 0)
    yield server.port
    server.stop()


def test_prometheus_gets_it_over_http(served: int) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{served}/metrics", timeout=10) as answer:
        assert told(answer.read().decode())["hive_facts",] == 10


def test_a_port_that_is_taken_is_told(served: int) -> None:
    with pytest.raises(BackendError, match="give another one"):
        metrics.serve(list, served)


@given(st.lists(st.floats(min_value=-1, max_value=100)))
def test_every_duration_is_counted_in_each_bucket_that_can_hold_it(durations: list[float]) -> None:
    histogram = Histogram()
    for seconds in durations:
        histogram.observe(seconds)

    rows = histogram.cumulative()
    assert rows[-1] == ("+Inf", len(durations))
    for bound, (name, count) in zip(BOUNDS_S, rows, strict=False):
        assert (float(name), count) == (bound, sum(1 for seconds in durations if seconds <= bound))
    assert histogram.sum_s == pytest.approx(sum(max(seconds, 0) for seconds in durations))


def test_a_block_that_fails_is_measured_too() -> None:
    timings = Timings()

    with pytest.raises(ValueError, match="no"), timings.measured("ask"):
        raise ValueError("no")
    with timings.measured("ask"):
        pass

    assert timings.of["ask"].count == 2
