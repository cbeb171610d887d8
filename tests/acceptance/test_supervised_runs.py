"""Runs of a fleet that somebody looks after: waiting is no trouble, what gets worse is told again, and people talk with both."""

import json
import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.model_runs import says, sets
from tests.sampled import thorough
from tests.servers.home_guard import HomeGuard
from tests.servers.openai_compatible import Behaviour, OpenAICompatibleServer, Received, Reply, Silence
from tests.servers.redis_server import redis_program
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("module_workers")]

STALL_MIN = 0.1
LIMIT = ("--timeout", 300)
SUB_AGENT = """\
apiVersion: hive-mind/v1
kind: Worker
spec:
  id: errand
  entry: lead
  nodes: [{id: lead, prompt: "(lead)", subagents: [scout], outputs: [summary]}]
  subagents: [{id: scout, prompt: "(scout)", outputs: [found]}]
"""
STALLER = """\
apiVersion: hive-mind/v1
kind: Worker
spec: {id: staller, entry: stall, nodes: [{id: stall, prompt: "(stall)", outputs: [found]}]}
"""
TALKER = """\
apiVersion: hive-mind/v1
kind: Worker
spec:
  id: talker
  entry: talk
  nodes: [{id: talk, prompt: "(talk)", clientFacing: true, outputs: [heard]}]
"""
SEEKER = """\
apiVersion: hive-mind/v1
kind: Worker
spec:
  id: seeker
  entry: seek
  limits: {turns: 1000, tokens: 100000000}
  nodes: [{id: seek, prompt: "(seek)", tools: [recall], turns: 1000, outputs: [found]}]
"""


def roles(body: Any) -> Sequence[str]:
    return [message["role"] for message in body["messages"]]


def said_to(body: Any) -> list[str]:
    """All that people said in it. A conversation that nobody began begins with a word of its own."""
    return [one["content"] for one in body["messages"] if one["role"] == "user" and one["content"] != "Begin."]


class Model(OpenAICompatibleServer):
    """Plays each node by what its prompt says."""

    def __init__(self) -> None:
        super().__init__()
        self.sought = 0

    def next_behaviour(self, received: Received) -> Behaviour:
        super().next_behaviour(received)
        told, results = json.dumps(received.body), roles(received.body).count("tool")
        if "(stall)" in told:
            return Silence()
        if "(seek)" in told:
            # Slowly enough that the watcher sees it get worse.
            self.pause()
            self.sought += 1
            return says(("recall", {"query": f"query {self.sought}"}))
        if "(talk)" in told:
            heard = said_to(received.body)
            asks = ("Where to?", "And when?")
            return Reply(asks[len(heard)]) if len(heard) < len(asks) else sets(heard=heard)
        if "(scout)" in told:
            if results == 0:
                return says(("wait_for_response", {"message": "May I cross the bridge?"}))
            return sets(found="the other side")
        if results == 0:
            return says(("delegate_to_sub_agent", {"name": "scout", "task": "look around"}))
        return sets(summary="all is seen")


class Fleet:
    """One fleet whose runs are looked after, and the model that plays them."""

    def __init__(self, command: HiveMind, model: Model, folder: Path) -> None:
        self.command, self.model, self.folder = command, model, folder

    def begin(self, worker: str, name: str) -> None:
        """Begin it, and go away."""
        file = self.folder / f"{name}.yaml"
        file.write_text(worker, "utf-8")
        line = ("run", file, "--agent", "keeper", "--name", name)
        with self.command.start(*line, stdout=-3, stderr=-3) as process:
            wait_until(lambda: self.command("runs", "show", name, "--agent", "keeper").code == 0)
            process.send_signal(signal.SIGINT)

    def shown(self, run: str) -> Any:
        shown = self.command("runs", "show", run, "--agent", "keeper", "-o", "json")
        return shown.json if shown.code == 0 else {"status": "there is none yet"}

    def until(self, run: str, *statuses: str) -> Any:
        return wait_until(lambda: found if (found := self.shown(run))["status"] in statuses else None, lambda: self.shown(run))

    def items(self, kind: str, about: str) -> list[Any]:
        """Those on the desk of the fleet, decided or not, the oldest first."""
        views = self.command("inbox", "list", "--all", "-n", "200", "-o", "json").json
        found = [view for view in views if view["item"]["kind"] == kind and about in json.dumps(view["item"])]
        return sorted(found, key=lambda view: int(view["item"]["opened_ms"]))

    def tickets(self, run: str) -> list[str]:
        return [dict(view["item"]["context"])["severity"] for view in self.items("ticket", f"keeper/{run}")]

    def settle(self, ticket: Any, word: str) -> None:
        """What a person answers to the queen's question about a ticket; it is closed then."""
        id = ticket["item"]["id"]
        (asked,) = wait_until(lambda: self.items("question", id))
        self.answer(asked["item"]["id"], word)
        wait_until(lambda: any(view["item"]["id"] == id and view["decision"] for view in self.items("ticket", id)))

    def talk(self, *lines: str) -> str:
        """The queen's replies to these lines, whatever her agent is called."""
        ended = self.command("chat", "queen", stdin="\n".join(lines) + "\n")
        assert ended.code == 0, ended.err
        return ended.out

    def answer(self, item: str, text: str) -> None:
        assert self.command("inbox", "answer", item, text, "--as", "olga").code == 0


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    redis_program()
    folder = tmp_path_factory.mktemp("supervised")
    command = HiveMind(folder / "home").with_environment(LLM_KEY="none")
    guard = HomeGuard(command.home)
    health = {"agent": "ruler", "everyS": 0.3, "warn": 3, "degraded": 6, "critical": 60, "stallMin": STALL_MIN}
    with Model() as model, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_KEY", "none")
        spec = {
            "topology": "flat",
            "agents": [{"name": "keeper", "model": "openai:m", "domain": "bridges", "worker": "errand.yaml"}, {"name": "ruler"}],
            "queen": {"agent": "ruler"},
            "health": health,
            "llm": {"url": model.base_url, "key": "${env:LLM_KEY}"},
        }
        manifest = {"apiVersion": "hive-mind/v1", "kind": "Hive", "metadata": {"name": "town"}, "spec": spec}
        (folder / "errand.yaml").write_text(SUB_AGENT, "utf-8")
        (folder / "town.yaml").write_text(json.dumps(manifest), "utf-8")
        applied = command("apply", "-f", folder / "town.yaml", *LIMIT)
        assert applied.code == 0, applied.err
        yield Fleet(command, model, folder)
        assert command("delete", "--purge", "--yes").code == 0
    guard.release()


def test_a_run_whose_sub_agent_asks_a_person_is_waiting_and_gets_no_ticket(fleet: Fleet) -> None:
    fleet.begin(SUB_AGENT, "errand")
    (asked,) = fleet.until("errand", "parked")["waiting"]
    assert (asked["title"], asked["asks"]) == ("May I cross the bridge?", "lead → scout")
    assert asked["id"][:8] in fleet.command("runs", "list", "--agent", "keeper").out
    assert (
        "waits for a person (lead → scout): May I cross the bridge?"
        in fleet.command("runs", "show", "errand", "--agent", "keeper").out
    )
    # By the time that a run which began later has stalled, this one has waited for longer than that.
    fleet.begin(STALLER, "stall")
    wait_until(lambda: fleet.tickets("stall") == ["critical"])
    assert fleet.tickets("errand") == []
    fleet.answer(asked["id"], "yes")
    assert fleet.until("errand", "accepted")["outputs"] == {"summary": "all is seen"}


@pytest.mark.parametrize("most", [100, thorough(300)])
def test_what_gets_worse_is_told_again_and_held_up_and_again_after_each_word(fleet: Fleet, most: int) -> None:
    fleet.begin(SEEKER, run := f"seek-{most}")
    (first,) = wait_until(lambda: fleet.items("ticket", f"keeper/{run}"))
    fleet.settle(first, "leave")
    held = fleet.until(run, "paused")
    assert "made 6" in held["reason"]
    assert fleet.tickets(run) == ["degraded", "degraded", "critical"]
    critical = fleet.items("ticket", f"keeper/{run}")[-1]
    evidence = dict(critical["item"]["context"])["evidence"]
    assert re.search(
        r"recall: [3-9]\d× with \d\d different arguments, \S+Z to \S+Z, the last recall ..query.: .query \d+", evidence
    )
    assert re.search(r"nothing was accepted in the last 6\d steps", evidence)
    # Each time that it is let go on it is counted anew: told at 6, and held up at 60.
    while (steps := fleet.shown(run)["steps"]) < most:
        severities = [*fleet.tickets(run), "degraded", "critical"]
        fleet.settle(critical, "resume")
        wait_until(lambda expected=severities: fleet.tickets(run) == expected, lambda: fleet.tickets(run))
        held = fleet.until(run, "paused")
        assert "made 6" in held["reason"]
        assert held["steps"] >= steps + 60
        critical = fleet.items("ticket", f"keeper/{run}")[-1]
    assert fleet.command("runs", "cancel", run, "--agent", "keeper").code == 0


def test_people_talk_with_a_run_of_a_fleet_and_what_is_said_twice_with_its_key_is_heard_once(fleet: Fleet) -> None:
    fleet.begin(TALKER, "talk")
    assert fleet.until("talk", "parked")["listening"] == [{"node": "talk", "text": "Where to?"}]
    assert "a word (talk)" in fleet.command("runs", "list", "--agent", "keeper").out
    for _ in range(2):
        said = fleet.command("runs", "say", "talk", "to Corrin", "--key", "k1", "--agent", "keeper")
        assert said.code == 0, said.err
        assert "And when?" in said.out
    chat = fleet.command("chat", "keeper", "--run", "talk", stdin="at nine\n")
    assert chat.code == 0, chat.err
    assert chat.out.index("And when?") < chat.out.index("run talk: accepted")
    assert fleet.shown("talk")["outputs"] == {"heard": ["to Corrin", "at nine"]}
    refused = fleet.command("runs", "say", "talk", "hello?", "--agent", "keeper")
    assert (refused.code, "has ended (accepted)" in refused.err) == (2, True)


def test_the_queen_says_what_is_wrong_and_why_and_does_what_a_person_confirms(fleet: Fleet) -> None:
    fleet.begin(STALLER, "still")
    wait_until(lambda: fleet.tickets("still") == ["critical"])
    said = fleet.talk("Which runs are in trouble?", "Why?", "What do you propose?", "restart still", "no", "pause nothing")
    assert "keeper/still: paused at stall" in said
    assert "stall has waited for a turn of the model since" in said
    assert "restart keeper/still: what it waits for does not come." in said
    assert "Shall I restart keeper/still? Answer yes or no." in said
    assert "I leave it: restart keeper/still is not done." in said
    assert fleet.shown("still")["status"] == "paused"

    said = fleet.talk("please restart keeper/still", "yes", "assign look at the bridges", "yes")
    assert "Done: run still-again of keeper is unfinished." in said
    assert fleet.shown("still")["reason"].startswith("given up by ")
    wait_until(lambda: all(view["decision"] for view in fleet.items("ticket", "keeper/still")))
    (run,) = re.findall(r"Done: keeper begins run (a-\w+)", said)
    assert fleet.until(run, "parked")["worker"] == "errand"
    # She hears of nodes as they begin.
    wait_until(lambda: f"keeper/{run}: lead begins" in fleet.talk(f"What happened in {run}?"))
    assert fleet.command("runs", "cancel", "still-again", "--agent", "keeper").code == 0
