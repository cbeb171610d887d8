"""Any line that a client of `hive-mind mcp` may write gets exactly one answer, unless it is a notification or an answer."""

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from subprocess import DEVNULL, PIPE
from typing import IO, Any
from uuid import uuid4

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.test_mcp import SHOWN, TOKEN, is_open
from tests.servers.home_guard import HomeGuard
from tests.servers.ports import free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
PATIENCE_S = 60.0
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
RECALL = {"name": "recall", "arguments": {"query": "Where is the lock keeper?", "limit": 3}}
BOM = b"\xef\xbb\xbf"


def line_of(**message: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


class ServerLines:
    """What a server reads and what it answers."""

    def __init__(self, into: IO[bytes], out: IO[bytes]) -> None:
        self._into, self._answers = into, queue.Queue[dict[str, Any]]()
        threading.Thread(target=lambda: [self._answers.put(json.loads(line)) for line in out], daemon=True).start()

    def write(self, *lines: bytes) -> None:
        self._into.write(b"".join(line + b"\n" for line in lines))
        self._into.flush()

    def answers(self, count: int) -> list[dict[str, Any]]:
        """So many answers; fails where fewer come."""
        return [self._answers.get(timeout=PATIENCE_S) for _ in range(count)]

    def answers_to(self, *lines: bytes, count: int) -> list[dict[str, Any]]:
        """All answers to these lines, which should be so many."""
        last = str(uuid4())
        self.write(*lines)
        answers = self.answers(count)
        self.write(line_of(id=last, method="ping"))
        (end,) = self.answers(1)
        assert end == {"jsonrpc": "2.0", "id": last, "result": {}}, (lines, end)
        return answers


@contextmanager
def served(command: HiveMind, *options: str) -> Iterator[ServerLines]:
    with command.start("mcp", *options, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as process:
        try:
            yield ServerLines(process.stdin, process.stdout)
            process.stdin.close()
            process.wait(PATIENCE_S)
        finally:
            process.kill()


@contextmanager
def greeted(command: HiveMind, *options: str) -> Iterator[ServerLines]:
    with served(command, *options) as server:
        server.write(line_of(id="hello", method="initialize", params=HELLO))
        server.answers(1)
        server.write(line_of(method="notifications/initialized"))
        yield server


@pytest.fixture(scope="module")
def server(module_workers: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerLines]:
    """One that no line ends."""
    del module_workers
    guard = HomeGuard(folder := tmp_path_factory.mktemp("lines"))
    with greeted(HiveMind(folder / "home")) as lines:
        yield lines
    guard.release()


# (a line, the id and the code of the answer; None: it is done)
NAMED_LINES = [
    (b"not json", None, PARSE_ERROR),
    (b"", None, PARSE_ERROR),
    (b"  \r", None, PARSE_ERROR),
    (b"\xff\xfe\x00", None, PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', None, PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', None, PARSE_ERROR),
    (b"[" * 100_000, None, PARSE_ERROR),
    (b"[]", None, INVALID_REQUEST),
    (b'[{"jsonrpc":"2.0","id":2,"method":"ping"}]', None, INVALID_REQUEST),
    (b"7", None, INVALID_REQUEST),
    (b"null", None, INVALID_REQUEST),
    (b"{}", None, INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}', 3, INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":"4","method":"ping","params":"x"}', "4", INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","method":"ping","params":[]}', None, INVALID_REQUEST),
    (b'{"jsonrpc":"1.0","id":5,"method":"ping"}', 5, INVALID_REQUEST),
    (b'{"id":6,"method":"ping"}', 6, INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":7}', 7, INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":8,"method":9}', 8, INVALID_REQUEST),
    *(
        (b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % id, None, INVALID_REQUEST)
        for id in (b"null", b"true", b"1.5", b"[]", b"{}")
    ),
    (b'{"jsonrpc":"2.0","id":9,"result":7}', 9, INVALID_REQUEST),
    (BOM + b'{"jsonrpc":"2.0","id":10,"method":"ping"}\r', 10, None),
    (b'{"jsonrpc":"2.0","id":11,"method":"ping","params":null}', 11, None),
    (b'{"jsonrpc":"2.0","id":"\\ud83d","method":"ping"}', "\N{REPLACEMENT CHARACTER}", None),
    (b'{"jsonrpc":"2.0","id":12,"method":"ping","params":{"x":"\xff"}}', 12, None),
    (b'{"jsonrpc":"2.0","id":13,"method":"ping","params":{"x":"' + b"x" * (5 << 20) + b'"}}', 13, INVALID_REQUEST),
    (b'{"method":"ping","params":{"id":1,"x":"' + b"x" * (5 << 20) + b'"},"jsonrpc":"2.0","id":14}', 14, INVALID_REQUEST),
    (b"x" * (5 << 20), None, INVALID_REQUEST),
]


def test_a_line_that_is_no_message_is_answered_by_what_says_so_and_one_that_can_be_mended_is_carried_out(server: ServerLines):
    for line, id, code in NAMED_LINES:
        (answer,) = server.answers_to(line, count=1)
        assert (answer["id"], answer.get("error", {}).get("code")) == (id, code), (line[:80], answer)


def test_over_http_a_body_that_is_no_message_has_the_same_refusal(guarded: HiveMind) -> None:
    port, command = free_port(), guarded.with_environment(HIVE_MIND_MCP_TOKEN=TOKEN)
    headers = {**SHOWN, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with command.start("mcp", "--http", port, stdout=DEVNULL, stderr=PIPE) as process:
        try:
            assert any(b"serving agent" in line for line in process.stderr)
            wait_until(lambda: is_open(port))
            for line, id, code in NAMED_LINES:
                if code is not None:
                    answer = httpx2.post(f"http://127.0.0.1:{port}/mcp", headers=headers, content=line, timeout=PATIENCE_S).json()
                    # What is too long is refused before its end is read.
                    assert (answer["id"], answer["error"]["code"]) == (id if len(line) < 1 << 20 or id == 13 else None, code), (
                        line[:80]
                    )
            hello = line_of(id=1, method="initialize", params={**HELLO, "clientInfo": {"name": "\ud83d", "version": "1"}})
            assert httpx2.post(f"http://127.0.0.1:{port}/mcp", headers=headers, content=hello, timeout=PATIENCE_S).is_success
        finally:
            process.kill()


def test_half_a_surrogate_pair_is_taken_for_what_it_shows_as(server: ServerLines) -> None:
    kept = {"name": "remember", "arguments": {"text": "The boat \ud83d is red. The \ud83d\udc4d is up.", "source": "\udc4d"}}
    asked = {"name": "recall", "arguments": {"query": "What of the boat \ud83d?"}}
    (stored,) = server.answers_to(line_of(id=1, method="tools/call", params=kept), count=1)
    (found,) = server.answers_to(line_of(id=2, method="tools/call", params=asked), count=1)
    assert stored["result"]["structuredContent"]["added"] == 2
    boat = found["result"]["structuredContent"]["facts"][0]
    assert (boat["text"], boat["sources"]) == ("The boat \N{REPLACEMENT CHARACTER} is red.", ["\N{REPLACEMENT CHARACTER}"])


def test_a_request_before_the_first_greeting_is_answered(guarded: HiveMind) -> None:
    with served(guarded) as server:
        lines = [b"not json", line_of(id=1, method="tools/list"), line_of(id=2, method="tools/call", params=RECALL)]
        assert {answer["id"] for answer in server.answers_to(*lines, count=3)} == {None, 1, 2}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MESSAGES = st.sampled_from(
    [
        {"id": 1, "method": "ping"},
        {"id": 2, "method": "tools/list", "params": {}},
        {"id": "3", "method": "tools/call", "params": RECALL},
        {"id": 4, "method": "resources/read", "params": {"uri": "hive://conflicts"}},
        {"id": 5, "method": "prompts/get", "params": {"name": "brief", "arguments": {"topic": "x"}}},
        {"id": 6, "method": "initialize", "params": HELLO},
        {"id": 7, "result": {}},
        {"id": 8, "error": {"code": 1, "message": "no"}},
        {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 2}},
    ]
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A message with some of it replaced, and some of its bytes."""
    message = deepcopy({"jsonrpc": "2.0", **draw(MESSAGES)})
    for _ in range(draw(st.integers(0, 2))):
        place, name = message, draw(st.sampled_from([*message, "id", "params", "name", "arguments", "query", "_meta"]))
        while name not in place and isinstance(place.get("params"), dict) and place is not place["params"]:
            place = place["params"]
        place[name] = draw(ANYTHING)
    line = draw(st.sampled_from([b"", BOM, b" "])) + json.dumps(message, ensure_ascii=draw(st.booleans())).encode(
        "utf-8", draw(st.sampled_from(["surrogatepass", "replace"]))
    )
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.binary(max_size=3)) + line[at + draw(st.integers(0, 4)) :]
    return line.replace(b"\n", b" ")


def is_unanswered(line: bytes) -> bool:
    """Whether it is a notification or an answer."""
    try:
        message = json.loads(line.removeprefix(BOM).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    if "method" in message:
        return "id" not in message and isinstance(message["method"], str) and isinstance(message.get("params"), dict | None)
    id, error = message.get("id", ()), message.get("error")
    is_told = isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str)
    is_named = isinstance(id, int | str) and not isinstance(id, bool)
    return (is_named and isinstance(message.get("result"), dict)) or ((is_named or id is None) and is_told)


def test_any_line_gets_exactly_one_answer_but_for_notifications_and_answers(server: ServerLines) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(lines(), min_size=5, max_size=20))
    def each(some: list[bytes]) -> None:
        server.answers_to(*some, count=sum(not is_unanswered(line) for line in some))

    each()
