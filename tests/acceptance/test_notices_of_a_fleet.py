"""A fleet sends a notice of what waits, also after its process was killed, and takes the reply by its link."""

import json
import os
import signal
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

ASK = {"id": "ask", "entry": "ask", "nodes": [{"id": "ask", "kind": "person", "prompt": "Sail?", "outputs": ["word"]}]}
TELL = "import os, sys\nopen(sys.argv[1], 'a').write(os.environ['HIVE_MIND_NOTICE'] + ' ' + sys.stdin.read() + '\\n')\n"


class Town:
    """A fleet of which keeper runs `ASK`."""

    def __init__(self, command: HiveMind, folder: Path) -> None:
        self.command, self.got, self.file = command, folder / "got", folder / "town.yaml"
        (folder / "tell.py").write_text(TELL, "utf-8")
        (folder / "ask.yaml").write_text(json.dumps({"apiVersion": "hive-mind/v1", "kind": "Worker", "spec": ASK}), "utf-8")
        notify = {"command": [sys.executable, str(folder / "tell.py"), str(self.got)], "link": "http://hive.example"}
        spec = {"topology": "flat", "agents": [{"name": "keeper", "worker": "ask.yaml"}, {"name": "ben"}]}
        manifest = {"apiVersion": "hive-mind/v1", "kind": "Hive", "metadata": {"name": "town"}}
        spec |= {"embedding": {"kind": "none"}, "notify": notify}
        self.file.write_text(json.dumps(manifest | {"spec": spec}), "utf-8")

    def apply(self) -> None:
        assert self.command("apply", "-f", self.file, "--timeout", 300).code == 0

    @property
    def notices(self) -> list[Any]:
        lines = self.got.read_text("utf-8").splitlines() if self.got.exists() else []
        parts = [line.partition(" ") for line in lines]
        assert [id for id, _, _ in parts] == [json.loads(body)["id"] for _, _, body in parts]
        return [json.loads(body) for _, _, body in parts]

    @property
    def process(self) -> Any:
        return json.loads((self.command.home / "fleets" / "town" / "run" / "keeper.json").read_text("utf-8"))

    def reply(self, link: str, **form: str) -> int:
        url = link.replace("http://hive.example", f"http://127.0.0.1:{self.process['port']}")
        body = urllib.parse.urlencode(form).encode() or None
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as response:  # noqa: S310 - ours
                return int(response.status)
        except urllib.error.HTTPError as refused:
            return refused.code


def test_a_notice_survives_a_kill_and_its_link_takes_one_reply(command: HiveMind, tmp_path: Path) -> None:
    town = Town(command, tmp_path)
    town.apply()
    assert command("run", "--agent", "keeper", "--name", "r").code == 1
    wait_until(lambda: town.notices)
    os.kill(town.process["pid"], signal.SIGKILL)
    town.apply()
    assert command("run", "--agent", "keeper", "--name", "s").code == 1
    # One that was killed before it had written down that it was sent is sent again.
    by_run = wait_until(lambda: told if len(told := {notice["run"]: notice for notice in town.notices}) > 1 else None)
    assert list(by_run) == ["r", "s"]
    answer = by_run["r"]["replies"]["answer"]
    assert town.reply(answer) == 200
    assert command("runs", "show", "r", "--agent", "keeper", "-o", "json").json["status"] == "parked"
    assert [town.reply(answer, by="ines", text="yes") for _ in range(2)] == [200, 410]
    assert town.reply(answer.replace("answer.0", "reject.0"), by="eve") == 403
    shown = wait_until(
        lambda: found if (found := command("runs", "show", "r", "--agent", "keeper", "-o", "json").json)["outputs"] else None
    )
    assert shown["outputs"] == {"word": "yes"}
    seal = answer.rpartition(".")[2].encode()
    assert [path for path in command.home.rglob("*") if path.is_file() and seal in path.read_bytes()] == []
