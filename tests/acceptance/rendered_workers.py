"""Workers of a rendered fleet as processes of this machine, each in folders laid out like those of its container."""

import json
import os
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

from hive_mind.control.platforms.in_containers import CONFIG_FILE, CONFIG_FOLDER, HOME, OWN_KEY_FOLDER, PUBLIC_KEYS, RUN

ROOT = Path(__file__).parents[2]
TOKEN = "a token of the test"  # noqa: S105
PATIENCE_S = 90.0
_MOVED = (HOME, RUN, OWN_KEY_FOLDER + "/", PUBLIC_KEYS, "/run/secrets")


class Container:
    """What one service of a Compose file sees: its own root, with everything that is mounted there."""

    def __init__(self, service: str, rendered: Path, root: Path, bus: str) -> None:
        self.service, self.root = service, root
        compose = yaml.safe_load((rendered / "compose.yaml").read_text("utf-8"))
        self._rendered, self._objects = rendered, compose
        self._mount(compose["services"][service])
        file = self.inside(f"{CONFIG_FOLDER}/{CONFIG_FILE}")
        config = self._moved(json.loads(file.read_text("utf-8")))
        self.port = int(config["seen"]["port"])
        file.write_text(json.dumps({**config, "bus": {"url": bus}}), "utf-8")

    def inside(self, path: str) -> Path:
        """Where a path of the container is on this machine."""
        return self.root / path.lstrip("/")

    def start(self) -> "subprocess.Popen[bytes]":
        """Run its command."""
        file = self.inside(f"{CONFIG_FOLDER}/{CONFIG_FILE}")
        told = {"PYTHONPATH": str(ROOT), "HIVE_MIND_WORKER_TOKEN": TOKEN, "HIVE_MIND_EMBED": "none"}
        command = [sys.executable, "-m", "hive_mind", "agent", "--config", str(file)]
        return subprocess.Popen(command, env=os.environ | told, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def call(self, path: str, **body: Any) -> Any:
        """A request as an operator's."""
        data = json.dumps(body).encode() if body else None
        headers = {"Authorization": f"Bearer {TOKEN}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
            return json.load(reply)

    def is_ready(self) -> bool:
        """Whether it is of use."""
        try:
            return bool(self.call("/v1/status")["nodes"][0]["is_ready"])
        except OSError:
            return False

    def _mount(self, service: Mapping[str, Any]) -> None:
        for kind in ("configs", "secrets"):
            for one in service.get(kind, ()):
                source, target = (one, f"/run/secrets/{one}") if isinstance(one, str) else (one["source"], one["target"])
                file = self._rendered / self._objects[kind][source]["file"]
                if file.exists():
                    self._copy(file, target)
        for volume in service["volumes"]:
            source, target, *_ = volume.split(":")
            if source.startswith("."):
                shutil.copytree(self._rendered / source, self.inside(target), dirs_exist_ok=True)

    def _copy(self, file: Path, target: str) -> None:
        there = self.inside(target)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, there)

    def _moved(self, value: Any) -> Any:
        if isinstance(value, str):
            return str(self.inside(value)) if value.startswith(_MOVED) else value
        if isinstance(value, dict):
            return {key: self._moved(inner) for key, inner in value.items()}
        return [self._moved(inner) for inner in value] if isinstance(value, list) else value


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
