"""What each member of a sharded fleet keeps, and what its death costs, before anything runs."""

from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind

MANIFEST = """
apiVersion: hive-mind/v1
kind: Hive
metadata: {name: small}
spec:
  topology: {kind: sharded, replicas: REPLICAS}
  agents: [{name: a}, {name: b}, {name: c}, {name: d}]
"""


@pytest.fixture
def planned(hive_mind: HiveMind, tmp_path: Path):
    def plan(replicas: int, *options: str):
        path = tmp_path / "small.yaml"
        path.write_text(MANIFEST.replace("REPLICAS", str(replicas)))
        return hive_mind("plan", "-f", path, *options)

    return plan


def test_a_member_that_keeps_nothing_is_named_before_it_runs(planned):
    text = " ".join(planned(3).out.split())

    assert "a, b, c: 1,024 partitions each; the death of one loses none: 2 copies of each are left" in text
    assert "d: no partition: a spare, which takes the place of a member that leaves; its death costs nothing" in text
    assert [one["partitions"] for one in planned(3, "-o", "json").json["holdings"]] == [1024, 1024, 1024, 0]


def test_a_death_that_loses_facts_is_named_and_an_even_fleet_has_nothing_to_tell(planned):
    assert "the death of one loses 256 for good: nobody else has a copy" in " ".join(planned(1).out.split())
    assert "partition" not in planned(2).out
