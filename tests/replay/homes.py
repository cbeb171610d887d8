"""Three homes as somebody left them, kept beside as archives: one agent alone, a flat fleet, a sharded one.

They were written by the version of their day and stay: that today's opens them is part of what is tested. Only where a replay
needs something more in them are they built anew, `python -m tests.replay --build HOME`, by commands alone.
"""

import io
import os
import signal
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.hive_mind_command import HiveMind
from tests.servers.forked import workers_as_copies
from tests.servers.forked_async import installed
from tests.servers.home_guard import HomeGuard
from tests.waiting import wait_until

FOLDER = Path(__file__).parent / "kept"
_HOME, _FILES = "home", FOLDER.parent / "files"
_LIMIT = ("--timeout", 120)
_DELETE = ("delete", "--yes", "--timeout", "120")


@dataclass(frozen=True)
class Home:
    """`build` makes what it holds, `begin` starts what runs in it, `end` stops that; `mcp` are the options of its MCP server."""

    name: str
    build: Callable[[HiveMind], None]
    begin: Callable[[HiveMind], None]
    end: tuple[str, ...]
    mcp: tuple[str, ...]

    @property
    def archive(self) -> Path:
        return FOLDER / f"{self.name}.tar.xz"

    def file(self, door: str) -> Path:
        return FOLDER / f"{self.name}.{door}"

    @contextmanager
    def opened(self, folder: Path) -> Iterator[HiveMind]:
        """A copy of it, in which nothing runs, with the files that its commands name; its folder is the current one."""
        with tarfile.open(self.archive) as archive:
            archive.extractall(folder, filter="data")
        with _in(folder) as command:
            yield command

    def close(self, command: HiveMind) -> None:
        """Stop what runs in it."""
        _done(command, *self.end)


def built(home: Home, folder: Path) -> None:
    """Make its archive anew."""
    with _in(folder) as command:
        home.build(command)
    with tarfile.open(home.archive, "w:xz") as archive:
        for path in sorted((folder / _HOME).rglob("*")):
            if path.is_file() and not path.name.endswith((".lock", ".log", ".out", "-wal", "-shm")):
                info = archive.gettarinfo(path, str(path.relative_to(folder)))
                info.uid = info.gid = info.mtime = 0
                info.uname = info.gname = ""
                archive.addfile(info, io.BytesIO(path.read_bytes()))


@contextmanager
def _in(folder: Path) -> Iterator[HiveMind]:
    """Where it lies, with what is needed beside it. No process of it is left behind."""
    for file in _FILES.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    before = Path.cwd()
    guard = HomeGuard(folder)
    os.chdir(folder)
    try:
        with workers_as_copies(), installed():
            yield HiveMind(folder / _HOME)
    finally:
        os.chdir(before)
        guard.release()


def _done(command: HiveMind, *words: object, stdin: str = "", code: int = 0) -> None:
    ended = command(*words, stdin=stdin)
    assert ended.code == code, (words, ended.out, ended.err)


def _learn(command: HiveMind, *options: str) -> None:
    for name in options[1:]:
        _done(command, "learn", "-", "--source", name, *options[0].split(), stdin=(_FILES / name).read_text("utf-8"))


def _build_alone(command: HiveMind) -> None:
    _learn(command, "", "harbour.txt", "pumps.txt", "letters.txt")
    _done(command, "facts", "supersede", "a8f17b71", "--by", "Pump D5 cools the transformers.", "--source", "ruth")
    _done(command, "run", "look.yaml", "--name", "waiting", "-i", "question=ferry")
    _done(command, "run", "look.yaml", "--name", "done", "-i", "question=pump")
    (item,) = command("runs", "show", "done", "-o", "json").json["waiting"]
    _done(command, "inbox", "answer", item["id"], "yes", "--as", "ines")
    _done(command, "runs", "resume", "done")


def _build_fleet(name: str, *learners: str) -> Callable[[HiveMind], None]:
    def build(command: HiveMind) -> None:
        _done(command, "apply", "-f", f"{name}.yaml", *_LIMIT)
        for agent, source in zip(learners, ("harbour.txt", "ferry.txt", "pumps.txt", "lighthouse.txt"), strict=False):
            _learn(command, f"--agent {agent}", source)
        wait_until(lambda: not any(row["pending"] for row in command("get", "agents", "-o", "json").json), "all is shared")
        _done(command, *_DELETE)

    return build


def _begin_alone(command: HiveMind) -> None:
    _done(command, "serve")


def _begin_flat(command: HiveMind) -> None:
    _done(command, "apply", "-f", "flat.yaml", *_LIMIT)


def _begin_sharded(command: HiveMind) -> None:
    """One member of four is killed, and the others know it."""
    _done(command, "apply", "-f", "sharded.yaml", *_LIMIT)
    agents = {row["name"]: int(row["pid"]) for row in command("get", "agents", "-o", "json").json}
    os.kill(agents["dan"], signal.SIGKILL)
    wait_until(lambda: _state_of(command, "dan") == "suspected", "dan is believed dead")


def _state_of(command: HiveMind, member: str) -> str:
    return next((str(row["state"]) for row in command("get", "members", "-o", "json").json if row["name"] == member), "")


HOMES = {
    home.name: home
    for home in (
        Home("alone", _build_alone, _begin_alone, ("serve", "--stop"), ("--allow-retract",)),
        Home("flat", _build_fleet("flat", "harbour", "ferry", "pumps"), _begin_flat, _DELETE, ("--agent", "ferry")),
        Home("sharded", _build_fleet("sharded", "ada", "bob", "cleo", "dan"), _begin_sharded, _DELETE, ("--agent", "ada")),
    )
}
