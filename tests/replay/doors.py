"""The three doors of a home: the command line, HTTP to a process of a fleet, MCP over standard input and output."""

import http.client
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hive_mind import __version__
from tests.acceptance.hive_mind_command import HiveMind
from tests.replay.masks import laid_out, masked, masked_text, shape
from tests.replay.script import Step

_PATIENCE_S = 60
_STDIN = " <<< "


class Replies:
    """What each door answers, as lines in which nothing is by chance."""

    def __init__(self, command: HiveMind) -> None:
        self._command, self._folder = command, command.home.parent

    def of_command(self, step: Step) -> list[str]:
        words, _, stdin = step.text.partition(_STDIN)
        ended = self._command(*shlex.split(words), stdin=stdin.replace("\\n", "\n"))
        # Beside an answer it says what it does, which is for people alone.
        error = self._text(ended.err) if ended.code and not step.how else []
        return [f"= {ended.code}", *self._body(step, ended.out), *(f"! {line}" for line in error)]

    def of_http(self, step: Step) -> list[str]:
        method, process, path, *body = step.text.split(" ", 3)
        contact = self._contact(process)
        headers = {"Authorization": f"Bearer {contact['token']}", "Content-Type": "application/json"}
        if path.startswith("!"):
            # Without the token.
            path, headers = path[1:], {}
        connection = http.client.HTTPConnection("127.0.0.1", contact["port"], timeout=_PATIENCE_S)
        try:
            connection.request(method, path, body[0] if body else None, headers)
            reply = connection.getresponse()
            return [f"= {reply.status}", *self._body(step, reply.read().decode())]
        finally:
            connection.close()

    @contextmanager
    def mcp(self, *options: str) -> Iterator["Mcp"]:
        """A client that has said hello."""
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with self._command.start("mcp", *options, **streams) as process:
            yield Mcp(self, process)
            process.stdin.close()

    def _contact(self, process: str) -> dict[str, Any]:
        (file,) = self._command.home.glob(f"fleets/*/run/{'*' if process == '-' else process}.json")
        return dict(json.loads(file.read_bytes()))

    def _body(self, step: Step, text: str) -> list[str]:
        if step.how == "?":
            return []
        value = _read(text)
        if value is None:
            return self._text(text) if not step.how else ["<text>"]
        return self.laid_out(step, value)

    def laid_out(self, step: Step, value: Any) -> list[str]:
        value = masked(value, str(self._folder), __version__)
        return laid_out(shape(value) if step.how == "~" else value)

    def _text(self, text: str) -> list[str]:
        if text.lstrip().startswith("Usage: "):
            # In the words of a library, which differ from version to version.
            return ["(usage)"]
        plain = re.sub(r"[╭╮╰╯│─]", "", masked_text(text, str(self._folder), __version__))
        return [" ".join(line.split()) for line in plain.splitlines() if line.strip()]


def _read(text: str) -> Any:
    """JSON, or lines of it as a list; None for what is neither."""
    with suppress(ValueError):
        return json.loads(text)
    with suppress(ValueError):
        return [json.loads(line) for line in text.splitlines()] or None
    return None


class Mcp:
    """One session, request by request."""

    def __init__(self, replies: Replies, process: Any) -> None:
        self._replies, self._process, self._number = replies, process, 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "replay", "version": "1"}}
        self._ask({"method": "initialize", "params": hello})
        self._say({"method": "notifications/initialized"})

    def reply(self, step: Step) -> list[str]:
        method, _, params = step.text.partition(" ")
        answer = self._ask({"method": method, "params": json.loads(params or "{}")})
        # Beside what is structured it says the same as text.
        result = answer.get("result")
        if isinstance(result, dict) and result.get("structuredContent") is not None:
            del result["content"]
        for content in (result or {}).get("contents", ()) if isinstance(result, dict) else ():
            content["text"] = json.loads(content["text"])
        return self._replies.laid_out(step, result if result is not None else answer.get("error"))

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._say(message | {"id": self._number})
        while line := self._process.stdout.readline():
            if (answer := json.loads(line)).get("id") == self._number:
                return dict(answer)
        raise AssertionError(f"no answer to {message}")

    def _say(self, message: dict[str, Any]) -> None:
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()
