"""A stand-in for `hive-mind agent --config FILE` that begins in a moment: the same files, lock and HTTP, and no memory.

Variables of its configuration make it difficult: FAKE_IGNORES_TERM, FAKE_HANGS (accepts and never answers), FAKE_CRASHES,
FAKE_IS_SLOW (says who it is after so many seconds).
"""

import fcntl
import hashlib
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil

_LIVES_S = 900.0
_KEY = "a token"


def main() -> int:
    body = Path(sys.argv[2]).read_bytes()
    config = json.loads(body)
    run, name = Path(config["run"]), config["process"]
    lock = os.open(run / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 3
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    if "FAKE_CRASHES" in config["env"]:
        raise RuntimeError(os.environ["FAKE_CRASHES"])
    stopping = threading.Event()
    is_deaf = "FAKE_IGNORES_TERM" in config["env"]
    signal.signal(signal.SIGTERM, signal.SIG_IGN if is_deaf else lambda *_: stopping.set())
    time.sleep(float(config["env"].get("FAKE_IS_SLOW", 0)))
    server = _Server(("127.0.0.1", 0), _handler(config, hashlib.sha256(body).hexdigest()))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _introduce(run / f"{name}.json", name, server.server_port, hashlib.sha256(body).hexdigest())
    _log(run.parent / "logs" / f"{name}.log", "began")
    # A signal that another thread takes does not wake this one. And if the tests were killed, nobody else would ever end it.
    ends_s = time.monotonic() + _LIVES_S
    while not stopping.wait(0.1) and time.monotonic() < ends_s:
        pass
    _log(run.parent / "logs" / f"{name}.log", "ended well")
    (run / f"{name}.json").unlink(missing_ok=True)
    return 0


class _Server(ThreadingHTTPServer):
    # A hundred tests may knock at once.
    request_queue_size = 128


def _introduce(path: Path, name: str, port: int, digest: str) -> None:
    started = psutil.Process().create_time()
    contact = {"process": name, "pid": os.getpid(), "started": started, "port": port, "token": _KEY, "config": digest}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(contact))
    part.chmod(0o600)
    part.replace(path)


def _log(path: Path, line: str) -> None:
    with path.open("a") as log:
        log.write(line + "\n")


def _handler(config: dict[str, Any], digest: str) -> type[BaseHTTPRequestHandler]:
    began_ms = int(time.time() * 1000)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one piece, or the system waits a moment before it sends the second.
        wbufsize = -1

        def do_GET(self) -> None:
            self._answer(lambda _: _status())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer(self._left if self.path == "/v1/leave" else self._asked, json.loads(body or b"{}"))

        def _left(self, request: dict[str, Any]) -> dict[str, Any]:
            return {"ok": {"left": request}}

        def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
            agent = self.path.rpartition("/")[2]
            if agent not in [one["name"] for one in config["agents"]]:
                return {"id": 0, "error": f"there is no agent {agent!r}", "kind": "InvalidInput"}
            return {"id": 0, "ok": {"agent": agent, **request}}

        def _answer(self, answer: Any, request: Any = None) -> None:
            if "FAKE_HANGS" in config["env"]:
                threading.Event().wait()
            is_known = self.headers.get("Authorization") == f"Bearer {_KEY}"
            body = json.dumps(answer(request)).encode() if is_known else b"who are you?"
            self.send_response(200 if is_known else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    def _status() -> dict[str, Any]:
        agents = [{"name": one["name"], "phase": "ready"} for one in config["agents"]]
        return {
            "process": config["process"],
            "pid": os.getpid(),
            "config": digest,
            "hive": config["hive"]["id"],
            "phase": "ready",
            "since_ms": began_ms,
            "agents": agents,
        }

    return Handler


if __name__ == "__main__":
    sys.exit(main())
