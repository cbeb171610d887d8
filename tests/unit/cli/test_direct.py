"""A resident agent is asked where it runs; whatever is not as it should be is left to what knows fleets."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from hive_mind.cli.asking.asked import is_to_be_started, resident
from hive_mind.cli.asking.serve import ResidentAgent
from hive_mind.control.status import AgentView, FleetStatus
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.workers import AgentStatus, Contact, WorkerStatus
from hive_mind.safe_files import try_lock

TOKEN = "".join(("to", "ken"))


class _Busy:
    has_been = False


class Handler(BaseHTTPRequestHandler):
    """A worker with the agents ada, who is ready, and ben, who failed."""

    def do_GET(self) -> None:
        agents = (AgentStatus("ada", phase="asleep"), AgentStatus("ben", phase="failed"))
        phase = "ready" if self.headers["Authorization"] == f"Bearer {TOKEN}" else "draining"
        self._say(msgspec.json.encode(WorkerStatus("w", 1, "", "", phase, 0, (), agents)))

    def do_POST(self) -> None:
        asked = msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"])))
        known = {"ok": {"heard": asked}} if asked["do"] == "ask" else {"error": "no such thing", "kind": "InvalidInput"}
        if asked["do"] == "ask" and asked.get("question") == "Who is busy?" and not _Busy.has_been:
            _Busy.has_been = True
            known = {"error": "ask again", "kind": "BackendBusy", "retry_after_s": 0.0}
        self._say(msgspec.json.encode(known))

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def contact(home: Path, port: int, token: str = TOKEN) -> Path:
    """As a worker leaves it."""
    folder = home / "fleets" / "resident" / "run"
    folder.mkdir(parents=True)
    file = folder / "resident-0.json"
    file.write_bytes(msgspec.json.encode(Contact("resident-0", 1, 0.0, port, token, "")))
    return file


def test_an_agent_is_asked_also_where_it_is_busy_its_refusals_are_those_of_any_and_no_other_is_asked(
    tmp_path: Path, port: int
) -> None:
    contact(tmp_path, port)
    found = resident(tmp_path, "ada")

    assert found is not None
    assert asyncio.run(found.call("ask", question="Who?")) == {"heard": {"do": "ask", "question": "Who?"}}
    with pytest.raises(InvalidInput, match="no such thing"):
        asyncio.run(found.call("dance"))
    # One that has too much to do is asked again.
    _Busy.has_been = False
    assert asyncio.run(found.call("ask", question="Who is busy?"))["heard"]["question"] == "Who is busy?"
    assert _Busy.has_been
    # Of others that are not there, have failed, listen nowhere or with another token nothing is asked.
    contact(tmp_path / "one", port, TOKEN * 2)
    contact(tmp_path / "two", 1)
    others = [(tmp_path, "ben"), (tmp_path, "cleo"), (tmp_path / "one", "ada"), (tmp_path / "two", "ada")]
    assert [resident(home, agent) for home, agent in others] == [None] * 4


def test_where_another_fleet_may_be_meant_or_nothing_runs_it_is_left_to_others(tmp_path: Path, port: int) -> None:
    assert resident(tmp_path, "ada") is None
    file = contact(tmp_path, port)
    (tmp_path / "fleets" / "town").mkdir()
    assert resident(tmp_path, "ada") is None
    (tmp_path / "fleets" / "town").rmdir()
    assert resident(tmp_path, "ada") is not None
    file.write_bytes(b"{")
    assert resident(tmp_path, "ada") is None


def test_one_that_ends_before_it_answers_is_out_of_reach(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        contact(tmp_path, server.server_port)
        found = resident(tmp_path, "ada")
        server.shutdown()
    assert found is not None
    with pytest.raises(BackendUnavailable, match="can't be reached"):
        asyncio.run(found.call("ask", question="Who?"))


def test_a_process_is_to_be_started_where_there_is_no_other_fleet_and_nobody_holds_a_lock(tmp_path: Path) -> None:
    assert is_to_be_started(tmp_path), "a new home"
    lock = contact(tmp_path, 1).with_suffix(".lock")
    lock.touch()
    assert is_to_be_started(tmp_path), "its process was killed"
    with lock.open("rb") as held:
        assert try_lock(held)
        assert not is_to_be_started(tmp_path), "it runs"
    (tmp_path / "fleets" / "town").mkdir()
    assert not is_to_be_started(tmp_path), "another fleet may be meant"


class Controller:
    """Of a fleet whose processes nobody may be asked about: only its record is at hand."""

    def __init__(self, home: Path) -> None:
        self.folder = SimpleNamespace(run=home / "fleets" / "resident" / "run")

    def process_of(self, agent: str) -> str:
        assert agent == "ada"
        return "resident-0"


def test_where_an_agent_is_asked_is_known_without_the_status_of_its_fleet(tmp_path: Path) -> None:
    file = contact(tmp_path, 4711)
    agent = ResidentAgent(cast(Any, Controller(tmp_path)), "resident", "ada", Settings(home=tmp_path))
    address, token_in = asyncio.run(agent.address())
    assert (address, token_in) == ("http://127.0.0.1:4711/v1/agents/ada", str(file))


class Looking(ResidentAgent):
    """Whose own process answers."""

    async def call(self, *_: object, **__: object) -> Any:
        return {"facts": 3}


def test_what_is_wrong_in_its_fleet_is_said_with_whose_it_is(tmp_path: Path) -> None:
    agents = [AgentView(name, "missing", False, name, last_error="it is not running") for name in ("ben", "cid")]
    status = FleetStatus("town", "Degraded", "flat", 1, 1, (), (), (AgentView("ada", "ready", True, "ada"), *agents))

    async def looked() -> FleetStatus:
        return status

    agent = Looking(cast(Any, SimpleNamespace(status=looked)), "town", "ada", Settings(home=tmp_path))

    assert asyncio.run(agent.status())["problems"] == ["ben: it is not running", "cid: it is not running"]
