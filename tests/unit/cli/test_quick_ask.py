"""Questions that are put to the resident process before the command line is loaded."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, product
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from typer.main import get_command

from hive_mind import __version__
from hive_mind.cli.app import app
from hive_mind.cli.asking import quick_ask
from hive_mind.cli.asking.quick_ask import _given, asked_and_answered
from hive_mind.cli.output import say
from hive_mind.runtime import worker_http

REPLY = {
    "answer": "Quoted from memory, not reasoned:\n“The ferry leaves at nine.”",
    "is_known": True,
    "sources": [],
    "closest": [],
    "completeness": 1.0,
    "silent": [],
}


class Resident(ThreadingHTTPServer):
    """Answers as a worker would, and notes what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.code, self.asked = 200, list[Any]()
        self.may_answer = Event()
        self.may_answer.set()


class Answering(BaseHTTPRequestHandler):
    server: Resident

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        self.send_response(self.server.code)
        self.end_headers()
        # As long as a worker is at it, it sends blanks.
        self.wfile.write(b" ")
        self.wfile.flush()
        assert self.server.may_answer.wait(60)
        said = {"ok": REPLY} if self.server.code == 200 else {"error": "no", "kind": "InvalidInput"}
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def resident() -> Iterator[Resident]:
    server = Resident()
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def home(tmp_path: Path, resident: Resident) -> Path:
    run = tmp_path / "fleets" / "resident" / "run"
    run.mkdir(parents=True)
    (run / "resident-1.json").write_text(json.dumps({"port": resident.server_port, "token": "t", "version": __version__}))
    return tmp_path


def test_a_question_is_answered_without_what_reads_commands(home: Path, resident: Resident) -> None:
    code = "import sys; from hive_mind.__main__ import main; main(); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, "ask", "When?", f"--home={home}", "-n", "3", "--agent", "ines"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)

    assert "The ferry leaves at nine." in ended.stdout
    assert "using agent ines of fleet resident" in ended.stderr
    assert {"typer", "rich", "asyncio", "http.client", "numpy"}.isdisjoint(ended.stderr.split())
    assert resident.asked == [("/v1/agents/ines/ask", "Bearer t", {"question": "When?", "limit": 3, "method": "hybrid"})]


def test_as_json_it_has_question_fleet_and_agent(home: Path, capfdbinary: Any) -> None:
    assert asked_and_answered(["ask", "When?", "--home", str(home), "-o", "json"])
    told = json.loads(capfdbinary.readouterr().out)
    assert (told["question"], told["fleet"], told["agent"], told["text"]) == ("When?", "resident", "default", REPLY["answer"])


@pytest.mark.parametrize(
    "arguments",
    [
        *(["learn", "x"], ["ask"], ["ask", " "], ["ask", "--help"], ["ask", "a", "b"]),
        *(["ask", "a", "--fleet", "town"], ["ask", "a", "--config", "file"], ["ask", "a", "-o", "yaml"]),
    ],
)
def test_what_is_no_simple_question_is_left_to_the_command(arguments: list[str]) -> None:
    assert _given(arguments) is None


@pytest.mark.parametrize("more", [["-n", "many"], ["-n", "99999"], ["--agent", "a b"], ["--agent", "x\r\nHost: y"]])
def test_what_may_be_wrong_is_not_put_to_it(home: Path, resident: Resident, more: list[str]) -> None:
    assert not asked_and_answered(["ask", "When?", "--home", str(home), *more])
    assert resident.asked == []


OPTIONS = (
    *("--agent", "-a", "-aada", "--agent=", "--agent=ada", "--limit", "-n", "-n5", "--method", "-ojson"),
    *("--as-of", "--explain"),
)
OPTIONS += ("--explain=1", "--home", "--", "-x")
VALUES = ("ada", "5", "0", "05", "5000", "keyword", "json", "2020", "--limit", "-", "")


def test_what_is_put_to_it_is_what_the_command_reads(home: Path, resident: Resident) -> None:
    command = get_command(app).get_command(None, "ask")  # type: ignore[attr-defined]
    for typed in chain(product(OPTIONS), product(OPTIONS, VALUES), product(["--agent"], ["ada"], OPTIONS)):
        resident.asked.clear()
        words = [f"--home={home}", "When?", *typed]
        if not asked_and_answered(["ask", *words]):
            continue
        ((path, _, body),) = resident.asked
        read = command.make_context("ask", words).params
        assert (path, body["question"]) == (f"/v1/agents/{read['agent'] or 'default'}/ask", read["question"]), typed
        assert (body["limit"], body["method"], body.get("as_of", "")) == (read["limit"], read["method"], read["as_of"]), typed


def test_where_it_refuses_or_is_gone_or_another_fleet_may_be_meant_the_command_asks(home: Path, resident: Resident) -> None:
    question = ["ask", "When?", "--home", str(home)]
    resident.code = 400
    assert not asked_and_answered(question)
    resident.code = 200
    (home / "fleets" / "town").mkdir()
    assert not asked_and_answered(question)
    (home / "fleets" / "town").rmdir()
    for contact in ('{"port": 1, "token": "t"}', "{", '{"port": "x"}', "[]"):
        (home / "fleets" / "resident" / "run" / "resident-1.json").write_text(contact)
        assert not asked_and_answered(question)
    assert not asked_and_answered(["ask", "When?", "--home", str(home / "nowhere")])


@pytest.mark.parametrize(
    ("version", "wish", "is_asked"),
    [(__version__, "", True), (__version__, "careful", True), (__version__, "eager", False), ("0.0.1", "", False)],
)
def test_one_of_this_version_that_answers_as_readily_as_is_wanted_is_asked(
    home: Path, resident: Resident, monkeypatch: pytest.MonkeyPatch, version: str, wish: str, is_asked: bool
) -> None:
    contact = json.dumps({"port": resident.server_port, "token": "t", "version": version, "answering": "careful"})
    (home / "fleets" / "resident" / "run" / "resident-1.json").write_text(contact)
    monkeypatch.setenv("HIVE_MIND_ANSWERING", wish)
    assert asked_and_answered(["ask", "When?", "--home", str(home), "--as-of", "2026-03-01"]) is is_asked
    # A time goes along.
    assert [body["as_of"] for _, _, body in resident.asked] == ["2026-03-01"] * is_asked


def test_a_line_says_that_it_is_waited_for(home: Path, resident: Resident, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(message: str, style: str = "") -> None:
        say(message, style)
        resident.may_answer.set()

    monkeypatch.setattr(quick_ask, "say", said)
    monkeypatch.setattr(worker_http, "NOTICE_FIRST_S", 0.0)
    resident.may_answer.clear()
    assert asked_and_answered(["ask", "When?", "--home", str(home)])
    told = capfd.readouterr()
    assert "waiting for process resident for 0 s: it lives, and works on the reply" in told.err
    assert "The ferry leaves at nine." in told.out


def test_one_that_says_nothing_is_given_up_at_once_and_not_asked_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        run = tmp_path / "fleets" / "resident" / "run"
        run.mkdir(parents=True)
        contact = {"process": "resident-1", "pid": 0, "port": silent.getsockname()[1], "token": "t", "version": __version__}
        (run / "resident-1.json").write_text(json.dumps(contact))
        command = [sys.executable, "-m", "hive_mind", "ask", "When?", f"--home={tmp_path}"]
        environment = {**os.environ, "HIVE_MIND_TIMEOUT_S": "1"}
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: resident-1: no answer in 1 s: ")
