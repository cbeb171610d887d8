"""`hive-mind agent run` as a person or a supervisor sees it: what it says, how it ends, and what it never leaves behind."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hive_mind.hive.topology.spec import SPECS
from tests.acceptance.hive_mind_command import HiveMind
from tests.servers.forked import Forked
from tests.servers.ports import free_port
from tests.servers.redis_server import RedisServer
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

ENDS_WITHIN_S = 30


@pytest.fixture
def hive_mind(tmp_path: Path) -> HiveMind:
    return HiveMind(tmp_path / ".hive")


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


class Running:
    """One process. Its standard error is read line by line."""

    def __init__(self, redis: RedisServer, home: Path, hive: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "hive_mind", "agent", "run", "--bus", redis.url, "--hive", hive, "--home", str(home)]
        self.process = Forked(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if not name.startswith("HIVE_MIND_")},
        )
        self.said: list[str] = []

    def until_it_says(self, pattern: str) -> str:
        assert self.process.stderr is not None
        until_s = time.monotonic() + 60
        while time.monotonic() < until_s and (line := self.process.stderr.readline()):
            self.said.append(line)
            if re.search(pattern, line):
                return line
        raise AssertionError(f"it never said {pattern!r}, but {''.join(self.said)}")

    def ended(self) -> int:
        _, err = self.process.communicate(timeout=ENDS_WITHIN_S)
        self.said.append(err)
        return self.process.returncode

    @property
    def text(self) -> str:
        return "".join(self.said)

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()


def test_it_says_where_it_stands_in_json_too_is_seen_by_prometheus_and_ends_well_when_it_is_told_to(
    redis: RedisServer, tmp_path: Path
) -> None:
    pytest.importorskip("prometheus_client")
    port = free_port()
    with Running(redis, tmp_path, "ends", "--name", "ada", "--members", "ada", "--metrics", str(port), "--log", "json") as ada:
        ada.until_it_says("ada: ready")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
            assert 'hive_bus_connected{node="ada"} 1.0' in reply.read().decode()
        ada.process.send_signal(signal.SIGTERM)
        assert ada.ended() == 0
        assert re.findall(r"ada: (\w+)", ada.text) == ["connecting", "ready", "finishing", "stopped"]


def test_a_second_one_of_the_same_name_is_refused_and_ctrl_c_ends_the_first_as_well_and_shows_in_its_code(
    redis: RedisServer, tmp_path: Path
) -> None:
    with Running(redis, tmp_path, "twins", "--name", "ada", "--members", "ada") as ada:
        ada.until_it_says("ada: ready")
        with Running(redis, tmp_path, "twins", "--name", "ada", "--members", "ada") as twin:
            assert twin.ended() == 1
            assert "error:" in twin.text
        ada.process.send_signal(signal.SIGINT)
        assert ada.ended() == 130
        assert "what was acknowledged is kept" in ada.text


def test_it_can_be_stopped_while_it_waits_and_says_for_whom_it_waits(redis: RedisServer, tmp_path: Path) -> None:
    with Running(redis, tmp_path, "waits", "--name", "ada", "--members", "ada,ben,cleo") as ada:
        assert "waiting for ben, cleo" in ada.until_it_says("waiting")
        ada.process.send_signal(signal.SIGTERM)

        assert ada.ended() == 0


def test_one_that_leaves_hands_over_and_is_missed_by_nobody(redis: RedisServer, tmp_path: Path) -> None:
    with (
        Running(redis, tmp_path, "leaves", "--name", "ada", "--members", "ada,ben") as ada,
        Running(redis, tmp_path, "leaves", "--name", "ben", "--members", "ada,ben", "--leave") as ben,
    ):
        ada.until_it_says(": ready")
        ben.until_it_says(": ready")
        ben.process.send_signal(signal.SIGTERM)
        assert ben.ended() == 0, ben.text
        assert re.findall(r"ben: (\w+)", ben.text)[-3:] == ["leaving", "finishing", "stopped"]
        # Long enough for a member to be suspected, which one that left is not.
        time.sleep(5)
        ada.process.send_signal(signal.SIGTERM)
        assert ada.ended() == 0
        assert "nothing is heard of ben" not in ada.text


def test_commands_teach_and_ask_one_that_runs_and_open_a_killed_ones_memory(redis: RedisServer, hive_mind: HiveMind) -> None:
    contacts = hive_mind.home / "hives" / "town" / "run"
    with Running(redis, hive_mind.home, "town", "--name", "ada", "--members", "ada") as ada:
        ada.until_it_says(": ready")
        wait_until(lambda: list(contacts.glob("*.json")))
        learned = hive_mind("learn", "-", "--agent", "ada", stdin="The keeper of the lighthouse is Ines.")
        asked = hive_mind("ask", "Who is the keeper of the lighthouse?", "--agent", "ada")
        assert (learned.code, "using agent ada of hive town" in learned.err) == (0, True), learned.err
        assert ("Ines" in asked.out, "held by ada" in asked.out) == (True, True), asked.out
        ada.process.kill()
    assert list(contacts.glob("*.json"))
    learned = hive_mind("learn", "-", "--agent", "ada", stdin="The ferry leaves at nine.")
    assert (learned.code, "of hive" in learned.err) == (0, False), learned.err

    with Running(redis, hive_mind.home, "town", "--name", "ada", "--members", "ada") as ada:
        ada.until_it_says(": ready")
        ada.process.send_signal(signal.SIGTERM)
        assert ada.ended() == 0
    assert not list(contacts.glob("*.json"))


@pytest.mark.parametrize("is_served", [True, False])
def test_a_memory_that_a_process_keeps_open_is_copied_and_what_needs_it_alone_says_at_once_what_ends_it(
    redis: RedisServer, hive_mind: HiveMind, tmp_path: Path, is_served: bool
) -> None:
    copy, text = tmp_path / "copy.sqlite", tmp_path / "facts.jsonl"
    with ExitStack() as stack:
        if is_served:
            stack.callback(hive_mind, "serve", "--stop")
            assert hive_mind("serve", "--agent", "ada").code == 0
        else:
            ada = stack.enter_context(Running(redis, hive_mind.home, "pier", "--name", "ada", "--members", "ada"))
            ada.until_it_says(": ready")
            wait_until(lambda: list((hive_mind.home / "hives" / "pier" / "run").glob("*.json")))
        ending = "hive-mind serve --stop" if is_served else "ends its hive-mind agent run"
        assert hive_mind("learn", "-", "--agent", "ada", "--source", "notes", stdin="The ferry leaves at nine.").code == 0

        # The only one here, so it need not be named.
        assert "The ferry leaves at nine." in hive_mind("facts", "list").out
        for command in (("backup", copy), ("facts", "export", text)):
            assert hive_mind(*command, "--agent", "ada").code == 0
        for command in (("facts", "import", text), ("restore", copy, "--force"), ("reembed",), ("doctor", "--repair")):
            ended = hive_mind(*command, "--agent", "ada")
            assert (ended.code, ending in ended.err, "waiting" in ended.err) == (1, True, False), (command, ended.err)
        erased = hive_mind("erase", "--source", "notes", "--yes")
        assert (erased.code, ending in erased.out, "waiting" in erased.err) == (1, True, False), erased.out
        assert "memory.sqlite: still has" not in erased.out
        if not is_served:
            served = hive_mind("serve", "--agent", "ada")
            assert (served.code, ending in served.err) == (1, True), served.err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--members", "ben,cleo"), 2, "--members must list every founding member, including ada"),
        (("--members", "ada,ben", "--join"), 2, "mutually exclusive"),
        (("--members", "ada", "--topology", "ring"), 2, f"known: {', '.join(SPECS)}"),
        (("--members", "ada", "--bus", "pigeons://loft"), 2, "there is no bus back end"),
        (("--members", "ada", "--bus", "redis://127.0.0.1:1"), 1, "redis: not reachable"),
        (("--members", "ada", "--bus", "redis://example.org:6379"), 2, "not encrypted"),
        (("--members", "ada", "--name", "../ada"), 2, ""),
    ],
)
def test_what_can_not_be_is_told_at_once(hive_mind: HiveMind, arguments: tuple[str, ...], code: int, text: str) -> None:
    ended = hive_mind("agent", "run", "--name", "ada", "--bus", "redis://127.0.0.1:1", *arguments)
    assert ended.code == code, ended.err
    assert text in ended.err


def test_a_joiner_that_finds_nobody_gives_up(redis: RedisServer, tmp_path: Path) -> None:
    with Running(redis, tmp_path, "empty", "--name", "eve", "--join", "--ready-s", "1") as eve:
        assert eve.ended() == 1
        assert "nobody took eve in within 1 s; does hive 'empty' run here?" in eve.text


def test_the_demo_over_a_bus_shows_who_answered_from_whom_and_leaves_no_process(redis: RedisServer, hive_mind: HiveMind) -> None:
    ended = hive_mind("demo", "--bus", redis.url, "--processes", "3", "--output", "json")

    assert ended.code == 0, ended.err
    assert set(ended.json["learned"].values()) == {"agent-0", "agent-1", "agent-2"}
    assert [one["completeness"] for one in ended.json["questions"]] == [1.0] * 5
    assert any(one["asked"] for one in ended.json["questions"])
    taught = ended.json["learned"]
    tellers = {taught[source] for one in ended.json["questions"] for hit in one["sources"] for source in hit["sources"]}
    assert len(tellers) > 1
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True, timeout=100).stdout
    assert ended.json["hive"] not in listed


def test_a_demo_whose_bus_is_not_there_says_so(hive_mind: HiveMind) -> None:
    ended = hive_mind("demo", "--bus", "redis://127.0.0.1:1", "--processes", "2")
    assert ended.code == 1
    (line,) = ended.err.splitlines()
    assert line.startswith("error: redis: not reachable")
