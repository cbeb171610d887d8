"""A process of a fleet that hangs keeps nobody waiting: what it alone knows is an error that says what to do."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest

from tests.acceptance.hive_mind_command import HiveMind, manifest_of
from tests.acceptance.test_commands_at_once import all_at_once
from tests.acceptance.test_mcp_lines import greeted, line_of
from tests.servers.redis_server import RedisServer

pytestmark = pytest.mark.slow

FLEET = manifest_of("""\
  topology: flat
  bus: "{bus}"
  agents: [{{name: ada}}, {{name: bob}}]
""")
QUESTION, QUOTE = "When does the ferry to Corrin leave?", "The ferry to Corrin leaves at nine."
# No gate lets it out.
PRIVATE = "The password of the ferry to Corrin is swordfish77."
INSTEAD = "agent bob answered instead of ada"
# Longer than a process needs to say that it lives.
SILENCE_S = "5"
QUESTIONS: list[tuple[object, ...]] = [("ask", QUESTION), ("facts", "search", "ferry Corrin")]
ITS_OWN: list[tuple[object, ...]] = [("facts", "list"), ("facts", "list", "--count"), ("learn", "-")]


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    process = psutil.Process(pid)
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)


def test_a_process_that_hangs_keeps_nobody_waiting(fleet: HiveMind, redis: RedisServer) -> None:
    fleet.applies(FLEET.format(bus=redis.url), fleet.home.parent)
    assert fleet("learn", "-", "--source", "table", "--agent", "ada", stdin=QUOTE).code == 0
    assert fleet("learn", "-", "--source", "diary", "--agent", "ada", stdin=PRIVATE).code == 0
    (pid,) = (one["pid"] for one in fleet("status", "-o", "json").json["processes"] if one["name"] == "ada")
    waiting = fleet.with_environment(HIVE_MIND_TIMEOUT_S=SILENCE_S)

    with stopped(pid):
        several = [(*words, "--agent", "ada") for words in (*QUESTIONS, *ITS_OWN)]
        by_command = dict(zip((*QUESTIONS, *ITS_OWN), all_at_once(waiting, several), strict=True))
        with greeted(waiting, "--agent", "ada") as server:
            called = {"name": "recall", "arguments": {"query": QUESTION}}
            (answer,) = server.answers_to(line_of(id=1, method="tools/call", params=called), count=1)

    for words in QUESTIONS:
        ended, printed = by_command[words], " ".join(by_command[words].out.split())
        assert (ended.code, QUOTE in printed, PRIVATE in printed) == (0, True, False), ended
        assert INSTEAD in printed + ended.err, ended
    for words in ITS_OWN:
        ended = by_command[words]
        assert (ended.code, f"no answer in {SILENCE_S} s" in ended.err) == (1, True), ended
        assert f"process {pid} is stopped; kill -CONT {pid}" in ended.err, ended
    recalled = str(answer["result"])
    assert (QUOTE in recalled, INSTEAD in recalled, PRIVATE in recalled) == (True, True, False), recalled


def test_a_process_that_was_stopped_goes_on_to_hand_over_and_no_other_is_started_in_its_place(
    fleet: HiveMind, redis: RedisServer
) -> None:
    fleet.applies(FLEET.format(bus=redis.url), fleet.home.parent)
    (pid,) = (one["pid"] for one in fleet("status", "-o", "json").json["processes"] if one["name"] == "bob")

    with stopped(pid):
        ended = fleet("drain", "bob")
        assert (ended.code, "start bob" in ended.err) == (0, False), ended
