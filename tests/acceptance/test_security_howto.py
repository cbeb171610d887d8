"""The steps of the how-to about security for keys that are lost or spent, as they stand there, with a fleet of real processes."""

import re
import shlex
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_mind.runtime.keys import KeyFolder
from tests.acceptance.hive_mind_command import HiveMind
from tests.servers.redis_server import RedisServer

pytestmark = pytest.mark.thorough

HOWTO = (Path(__file__).parents[2] / "docs" / "howto" / "security.md").read_text("utf-8")
FLEET = """\
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: harbour}}
spec:
  topology: flat
  identity: {identity}
  agents: [{{name: pumps, sources: [pumps.txt]}}, {{name: boats}}]
  bus: "{url}"
"""
NAMES = ("pumps", "boats")
SAID_WITHIN_S = 60.0
FACT = "Pump 4 leaks at the seal."


def steps(heading: str) -> list[list[str]]:
    """The commands of the paragraph that begins with this, and of the block below it."""
    paragraph = HOWTO.partition(f"**{heading}")[2].partition("\n**")[0].partition("\n## ")[0]
    block = re.findall(r"^    hive-mind ([^#\n]+)", paragraph, re.MULTILINE)
    return [shlex.split(line) for line in block or re.findall(r"`hive-mind ([^`]+)`", paragraph)]


class Fleet:
    """Two agents; the first has learned something, and the second knows it from the hive."""

    def __init__(self, hive_mind: HiveMind, url: str, folder: Path) -> None:
        self._run, self._url, self.folder = hive_mind, url, folder
        self.keys = KeyFolder(hive_mind.home / "fleets" / "harbour" / "keys", "harbour")

    def __call__(self, *arguments: str) -> str:
        ended = self._run(*arguments)
        assert ended.code == 0, f"{arguments}: {ended.err}"
        return ended.out

    def apply(self, identity: str = "require") -> None:
        (self.folder / "fleet.yaml").write_text(FLEET.format(url=self._url, identity=identity))
        self("apply", "-f", str(self.folder / "fleet.yaml"))

    def both_know(self) -> None:
        until_s = time.monotonic() + SAID_WITHIN_S
        while lacking := [name for name in NAMES if FACT not in self("ask", "What is wrong with pump 4?", "--agent", name)]:
            assert time.monotonic() < until_s, lacking

    def is_as_it_should_be(self) -> None:
        self.both_know()
        told = self._run("status", "-o", "json").json
        assert told["phase"] == "Ready", told
        assert next(one["reason"] for one in told["conditions"] if one["type"] == "Identity") == "Proven"


@pytest.fixture
def fleet(hive_mind: HiveMind, tmp_path: Path) -> Iterator[Fleet]:
    (tmp_path / "pumps.txt").write_text(FACT)
    with RedisServer() as redis:
        made = Fleet(hive_mind, redis.url, tmp_path)
        made.apply()
        made.is_as_it_should_be()
        yield made
        hive_mind("delete", "--yes")


def test_a_certificate_that_has_expired_is_issued_again_for_the_same_key(fleet: Fleet) -> None:
    fleet("delete", "--yes")
    former = fleet.keys.certificate("pumps")
    assert former is not None
    fleet.keys.issue("pumps", former.names[1:], days=-1)
    (command,) = steps("A certificate has expired.")
    assert command == ["apply"]

    fleet(*command, "-f", str(fleet.folder / "fleet.yaml"))

    now = fleet.keys.certificate("pumps")
    assert now is not None
    assert (now.key_id, now.not_after_ms >= former.not_after_ms) == (former.key_id, True)
    fleet.is_as_it_should_be()


def test_a_fleet_whose_root_is_lost_gets_another_and_keeps_its_facts(fleet: Fleet) -> None:
    former = (fleet.keys.path / "root.pub").read_bytes()
    (fleet.keys.path / "root.key").unlink()
    told = HOWTO.partition("**The root's key is lost.**")[2].partition("\n## ")[0]
    order = [
        told.index(step) for step in ("`identity: off` and apply", "remove the folder `keys`", "`identity: require` and apply")
    ]
    assert order == sorted(order)

    fleet.apply("off")
    shutil.rmtree(fleet.keys.path)
    fleet.apply("require")

    assert (fleet.keys.path / "root.pub").read_bytes() != former
    fleet.is_as_it_should_be()


def test_a_process_whose_key_is_lost_has_another_and_says_its_facts_again(fleet: Fleet) -> None:
    former = fleet.keys.certificate("pumps")
    (fleet.keys.path / "pumps.key").unlink()
    commands = steps("A process's key was stolen or lost.")
    assert [command[:2] for command in commands] == [["keys", "revoke"], ["keys", "issue"], ["rollout", "restart"]]

    for command in commands:
        fleet(*command)

    now = fleet.keys.certificate("pumps")
    assert former is not None
    assert now is not None
    assert (former.key_id in fleet.keys.revoked, now.key_id == former.key_id) == (True, False)
    # Until the other one is started again its status says that it heard of the revoked key.
    fleet.both_know()
