"""What the whole of a fleet is asked with one agent dead and another hung: answers say how much of it they rest on, and come."""

import os
import signal

import pytest

from tests.acceptance.hive_mind_command import HiveMind, manifest_of
from tests.acceptance.test_hung_process import stopped
from tests.servers.redis_server import RedisServer

pytestmark = pytest.mark.slow

FLEET = manifest_of("""\
  topology: {{kind: sharded, replicas: 1}}
  bus: "{bus}"
  agents: [{{name: ada}}, {{name: bob}}, {{name: cyd}}, {{name: dov}}]
""")
BOATS = "boat,berth,keeper\n" + "".join(f"Boat{number},B{number},Keeper{number}\n" for number in range(24))
QUESTIONS = {
    "counted": "How many boats are there?",
    "listed": "List all boats.",
    "in parts": "Who is the keeper of Boat3, and who is the keeper of Boat77?",
}
# Longer than a process needs to say that it lives.
SILENCE_S = "5"


def test_answers_say_how_much_of_a_fleet_they_rest_on(fleet: HiveMind, redis: RedisServer) -> None:
    manifest = fleet.home.parent / "fleet.yaml"
    manifest.write_text(FLEET.format(bus=redis.url))
    (fleet.home.parent / "boats.csv").write_text(BOATS)
    assert fleet("apply", "-f", manifest).code == 0
    assert fleet("learn", fleet.home.parent / "boats.csv", "--agent", "ada").code == 0
    fleet("wait", "--for=condition=Replicated")
    whole = {kind: fleet("ask", question, "--agent", "bob", "-o", "json").json for kind, question in QUESTIONS.items()}
    pids = {process["name"]: process["pid"] for process in fleet("status", "-o", "json").json["processes"]}
    waiting = fleet.with_environment(HIVE_MIND_TIMEOUT_S=SILENCE_S)

    os.kill(pids["cyd"], signal.SIGKILL)
    with stopped(pids["dov"]):
        less = {kind: waiting("ask", question, "--agent", "bob", "-o", "json").json for kind, question in QUESTIONS.items()}

    assert {kind: answer["completeness"] for kind, answer in whole.items()} == dict.fromkeys(QUESTIONS, 1.0)
    assert whole["counted"]["text"].startswith("24 (counted over 24 facts)")
    assert {kind: answer["completeness"] for kind, answer in less.items()} == dict.fromkeys(QUESTIONS, 0.5)
    for kind in ("counted", "listed"):
        assert "in 50% of the hive; 2 members did not answer (cyd, dov)" in less[kind]["text"], less[kind]
    for answer in (whole["in parts"], less["in parts"]):
        assert "“who is the keeper of Boat77” is not." in answer["text"] or not answer["is_known"], answer
