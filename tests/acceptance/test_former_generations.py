"""Topologies one after the other over real processes: one generation of the hive is left each time, and an erasure ends."""

import shutil
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind, manifest_of
from tests.acceptance.test_erasing import ADA, FERRY, files_with
from tests.servers.redis_server import RedisServer

pytestmark = pytest.mark.slow

FLEET = manifest_of("""\
  topology: {topology}
  trust: {{moderators: [ada]}}
  agents: [{{name: ada}}, {{name: bob}}, {{name: cleo}}]
  bus: "{url}"
""")
TOPOLOGIES = ("flat", "{kind: sharded, replicas: 2}", "{kind: federated, groups: [{name: sea}, {name: land}]}", "flat")


def applied(fleet: HiveMind, redis: RedisServer, folder: Path, topology: str) -> None:
    fleet.applies(FLEET.format(url=redis.url, topology=topology), folder)


def generations(fleet: HiveMind) -> list[str]:
    return sorted(path.name for path in (fleet.home / "hives").iterdir())


def facts(fleet: HiveMind) -> set[str]:
    return {fact["content"] for fact in fleet("get", "facts", "-o", "json").json}


def test_after_each_change_of_topology_one_generation_is_left_and_an_erasure_ends(
    fleet: HiveMind, redis: RedisServer, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text(f"{ADA}\n{FERRY}\n")
    for number, topology in enumerate(TOPOLOGIES):
        applied(fleet, redis, tmp_path, topology)
        if number == 0:
            assert fleet("learn", tmp_path / "notes.txt", "--agent", "bob").code == 0
            (first,) = generations(fleet)
            shutil.copytree(fleet.home / "hives" / first, tmp_path / "as-it-was")
        assert len(generations(fleet)) == 1
        assert facts(fleet) == {ADA, FERRY}

    # As versions before this one left them, and as a kill in the middle of the deletion leaves them.
    left = fleet.home / "hives"
    shutil.copytree(tmp_path / "as-it-was", left / first)
    shutil.copytree(tmp_path / "as-it-was", left / f"{first}.g2.replaced")
    next((left / f"{first}.g2.replaced").glob("*.sqlite")).unlink()
    (tmp_path / "notes.txt").unlink()

    ended = fleet("erase", "--subject", "Ada Lovelace", "--yes", "-o", "json")

    assert (ended.code, ended.json["owed"]) == (0, [])
    assert files_with("lovelace", fleet.home) == []
    assert generations(fleet) == [f"{first}.g4"]
    assert facts(fleet) == {FERRY}


def test_a_fleet_that_shares_nothing_names_what_rests_and_how_it_ends(fleet: HiveMind, redis: RedisServer, tmp_path: Path):
    (tmp_path / "notes.txt").write_text(f"{ADA}\n{FERRY}\n")
    applied(fleet, redis, tmp_path, "flat")
    assert fleet("learn", tmp_path / "notes.txt", "--agent", "bob").code == 0
    applied(fleet, redis, tmp_path, "single")

    owed = fleet("erase", "--subject", "Ada Lovelace", "--yes", "-o", "json")

    assert owed.code == 1
    assert "apply a manifest with a shared topology" in owed.out
    applied(fleet, redis, tmp_path, "flat")
    ended = fleet("erase", "--subject", "Ada Lovelace", "--yes", "-o", "json")
    assert (ended.code, ended.json["owed"]) == (0, [])
    assert len(generations(fleet)) == 1
