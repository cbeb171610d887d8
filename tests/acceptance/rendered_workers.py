"""Workers of a rendered fleet as processes of this machine: the command of the image, with what its container sees.

Variables and mounts are those of the Compose file; only paths and ports are others, below a folder of the test.
"""

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from hive_mind.control.platforms.compose import PASSWORD
from hive_mind.control.platforms.in_containers import CONFIG_FILE, CONFIG_FOLDER, TOKEN_VARIABLE
from tests.servers.forked import Forked
from tests.servers.ports import free_port
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
TOKEN = "a token of the test"  # noqa: S105
PATIENCE_S = 90.0
# A path of the container, also within a reference such as ${file:/run/secrets/redis_password}.
_INSIDE = re.compile(r"(?<![\w/])/(?:etc|run|var/lib)/")
_VARIABLE = re.compile(r"\$\{(\w+):\?[^}]*\}")


def prepared(rendered: Path, redis_password: str, keys: Path) -> None:
    """Do what the head of compose.yaml asks for, but for the image and for owners of files."""
    head = [line[4:] for line in (rendered / "compose.yaml").read_text("utf-8").splitlines() if line.startswith("#   ")]
    for line in head:
        if line.startswith(("mkdir", "install")):
            subprocess.run(line.replace("KEYS/", f"{keys}/"), shell=True, check=True, timeout=100, cwd=rendered)  # noqa: S602
    (rendered / "secrets" / PASSWORD).write_text(redis_password)
    (rendered / ".env").write_text(f"{TOKEN_VARIABLE}={TOKEN}\n")


class Container:
    """What one service of a Compose file sees: its own root, with everything that is mounted there."""

    def __init__(self, service: str, rendered: Path, root: Path, redis_port: int) -> None:
        self.service, self.root, self.port = service, root, free_port()
        compose = yaml.safe_load((rendered / "compose.yaml").read_text("utf-8"))
        self._rendered, self._objects = rendered, compose
        self._variables: dict[str, str] = compose["services"][service]["environment"]
        self._mount(compose["services"][service])
        file = self.inside(f"{CONFIG_FOLDER}/{CONFIG_FILE}")
        config = json.loads(self._moved(file.read_text("utf-8")))
        config["seen"]["port"] = self.port
        config["bus"]["url"] = config["bus"]["url"].replace(":6379", f":{redis_port}")
        file.write_text(json.dumps(config), "utf-8")

    def inside(self, path: str) -> Path:
        """Where a path of the container is on this machine."""
        return self.root / path.lstrip("/")

    def start(self) -> "subprocess.Popen[bytes]":
        """Run its command."""
        image = (ROOT / "deploy/Dockerfile").read_text("utf-8")
        entry, command = (json.loads(found) for found in re.findall(r"^(?:ENTRYPOINT|CMD) (\[.*\])$", image, re.MULTILINE))
        given = dict(line.split("=", 1) for line in (self._rendered / ".env").read_text("utf-8").splitlines())
        variables = {name: _VARIABLE.sub(lambda found: given[found[1]], text) for name, text in self._variables.items()}
        there = {"PYTHONPATH": str(ROOT), "PATH": str(Path(sys.executable).parent), "HIVE_MIND_HOME": "/var/lib/hive-mind"}
        environment = {name: self._moved(text) for name, text in (there | variables).items()}
        arguments = [self._moved(one) for one in (*entry[1:], *command)]
        home = self.inside("/var/lib/hive-mind")
        home.mkdir(parents=True, exist_ok=True)
        return Forked([sys.executable, *arguments], cwd=home, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def call(self, path: str, **body: Any) -> Any:
        """A request as an operator's."""
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, {"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
            return json.load(reply)

    def answers(self, question: str, expected: str) -> None:
        """Asked of the agent of its name until the answer has this: what another shared arrives when messages do."""

        def answer() -> str:
            text = str(self.call(f"/v1/agents/{self.service}", do="ask", question=question))
            return text if expected in text else ""

        wait_until(answer, f"{self.service} answers {expected!r}", PATIENCE_S)

    def is_ready(self) -> bool:
        """Whether it is of use."""
        try:
            status = self.call("/v1/status")
            return all(one["is_ready"] for one in status["nodes"]) and all(one["phase"] == "ready" for one in status["agents"])
        except OSError:
            return False

    def _mount(self, service: Mapping[str, Any]) -> None:
        for kind in ("configs", "secrets"):
            for one in service.get(kind, ()):
                source, target = (one, f"/run/secrets/{one}") if isinstance(one, str) else (one["source"], one["target"])
                self._copy(self._rendered / self._objects[kind][source]["file"], target)
        for volume in service["volumes"]:
            source, target, *_ = volume.split(":")
            if source.startswith("."):
                shutil.copytree(self._rendered / source, self.inside(target), dirs_exist_ok=True)

    def _copy(self, file: Path, target: str) -> None:
        there = self.inside(target)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, there)

    def _moved(self, text: str) -> str:
        return _INSIDE.sub(lambda found: f"{self.root}{found[0]}", text)


@contextmanager
def running(containers: Mapping[str, Container]) -> Iterator[None]:
    """All of them, until the end."""
    started = [container.start() for container in containers.values()]
    try:
        until_s = time.monotonic() + PATIENCE_S
        while not all(container.is_ready() for container in containers.values()):
            ended = next((process for process in started if process.poll() is not None), None)
            assert ended is None, ended.communicate()[1].decode()
            assert time.monotonic() < until_s
            time.sleep(0.1)
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.communicate(timeout=30)
