"""A fleet in one file and back: nothing is lost on the way, and nothing of a file from elsewhere is believed."""

import asyncio
import json
import shutil
import stat
import zipfile
from collections.abc import Callable, Coroutine
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hive_mind.control import restoring
from hive_mind.control.archive import Archived, export, import_
from hive_mind.control.controller import HiveController
from hive_mind.control.reading import read_text
from hive_mind.control.state import FleetFolder, FleetState
from hive_mind.errors import BackendUnavailable, DatabaseLocked, HiveError, InvalidInput
from hive_mind.hive.estate import Estate, Vouched
from hive_mind.hive.settings import HiveSettings
from hive_mind.model.messages import RegistryEntry
from hive_mind.runtime.generations import held, settle
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_memory
from hive_mind.runtime.worker_config import HiveConfig
from tests.hives import assertion

HIVE = HiveConfig("town", "flat", {"": ("n0", "n1")})
NEXT = HiveConfig("town.g2", "sharded", {"": ("x", "y", "z")}, replicas=2, partitions=8)
SAID = ("Pump 1 is red.", "Pump 2 is blue.", "The valve is open.")


def manifest(kind: str = "flat", name: str = "town") -> str:
    return f"""# Kept with its comments.
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: {name}}}
spec:
  topology: {kind}
  agents: [{{name: ann}}, {{name: ben}}]
  embedding: {{kind: none}}
  platform: {{kind: inprocess}}
"""


def run(play: Coroutine[Any, Any, Any]) -> Any:
    async def whole() -> Any:
        async with asyncio.timeout(60):
            return await play

    return asyncio.run(whole())


async def _begun(home: Path) -> None:
    folder = FleetFolder(home, "town").make()
    folder.keep_manifest(manifest(), 1)
    state = FleetState(hive=HIVE, last_hive=HIVE, nodes=("n0", "n1"), revision=1, agents=("ann", "ben", "new"), hives=("town",))
    folder.keep(state)
    said = [Vouched(assertion(text, ms=1_700_000_000_000 + n, agent="ann"), "n0") for n, text in enumerate(SAID)]
    said.append(Vouched(assertion(SAID[0], ms=1_700_000_000_100, agent="ben", root="visit", ttl_ms=9, expires_ms=99), "n1"))
    entry = RegistryEntry("trust/ann", "1.5", assertion().stamp, "mo")
    await settle(home, Estate(tuple(said), (entry,)), HIVE, {}, HiveSettings())
    settings = Settings(home=home, embed="none")
    async with await open_memory(settings, "ann") as memory:
        for text in SAID:
            await memory.store_fact("pump", text, source="manual")
    async with await open_memory(settings, "ben") as memory:
        await memory.store_fact("pump", SAID[0], source="visit")
    (home / "agents" / "ann" / "sources.json").write_text('{"/notes.txt": "abc"}')


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet that has stopped. Not to be changed."""
    path = tmp_path_factory.mktemp("town") / "home"
    run(_begun(path))
    return path


@pytest.fixture(scope="module")
def archive(home: Path) -> Path:
    path = home.parent / "town.zip"
    assert run(export(home, "town", path)) == Archived("town", ("ann", "ben"), 4, 4, 1)
    return path


def provenance(home: Path, hive: HiveConfig = HIVE) -> dict[str, Any]:
    return {fact.content: (fact.provenance, fact.confirmations, fact.trust) for fact in run(held(home, hive, ()))}


def exported(home: Path, agent: str) -> list[str]:
    async def read() -> list[str]:
        async with await open_memory(Settings(home=home, embed="none"), agent) as memory:
            return [line async for line in memory.export()]

    lines: list[str] = run(read())
    return lines


def paths(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# ── there and back ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_archive_is_for_its_owner_alone_and_says_what_it_is(archive: Path) -> None:
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    with zipfile.ZipFile(archive) as found:
        assert set(found.namelist()) == {
            "archive.json",
            "manifest.yaml",
            "hive.jsonl",
            "agents/ann.jsonl",
            "agents/ann.sources",
            "agents/ben.jsonl",
        }
        about = json.loads(found.read("archive.json"))
        assert (about["format"], about["version"], about["fleet"]) == ("hive-mind-archive", 1, "town")
        assert found.read("manifest.yaml").decode() == manifest()


def test_an_empty_home_gets_everything(home: Path, archive: Path, tmp_path: Path) -> None:
    to = tmp_path / "new" / "home"

    assert run(import_(archive, to)) == Archived("town", ("ann", "ben"), 4, 4, 1)

    assert provenance(to) == provenance(home)
    for agent in ("ann", "ben"):
        assert exported(to, agent) == exported(home, agent)
    folder = FleetFolder(to, "town")
    assert folder.manifest_text() == manifest()
    assert folder.state().is_stopped
    assert (to / "agents" / "ann" / "sources.json").read_text().strip() == '{"/notes.txt": "abc"}'
    assert [path.name for path in to.iterdir() if path.name.startswith(".")] == []


def test_what_was_imported_can_be_exported_alike(archive: Path, tmp_path: Path) -> None:
    run(import_(archive, tmp_path / "home"))
    run(export(tmp_path / "home", "town", tmp_path / "again.zip"))

    with zipfile.ZipFile(archive) as one, zipfile.ZipFile(tmp_path / "again.zip") as other:
        for name in ("manifest.yaml", "agents/ann.jsonl", "agents/ann.sources", "agents/ben.jsonl"):
            assert one.read(name) == other.read(name)


@pytest.mark.parametrize("kind", ["flat", "federated", "sharded", "single"])
def test_an_imported_fleet_can_be_applied_in_any_topology(archive: Path, tmp_path: Path, kind: str) -> None:
    async def play() -> None:
        await import_(archive, tmp_path / "home")
        async with HiveController.open(tmp_path / "home", "town") as controller:
            done = await controller.apply(read_text(manifest(kind), tmp_path, "manifest"))
            assert done.is_converged
            try:
                for agent in ("ann", "ben"):
                    found = await controller.call(agent, "facts", limit=100)
                    own = {one["content"] for one in found["facts"]}
                    assert own == (set(SAID[:1]) if kind == "single" and agent == "ben" else set(SAID))
            finally:
                await controller.delete()
        if kind != "single":
            hive = FleetFolder(tmp_path / "home", "town").state().last_hive
            assert hive is not None
            found = await held(tmp_path / "home", hive, ())
            # Two roots, as before; and what the agents still had to say added nothing.
            assert {(fact.content, fact.confirmations) for fact in found} >= {(SAID[0], 2), (SAID[1], 1)}

    run(play())


def test_a_fleet_can_be_imported_under_another_name(archive: Path, tmp_path: Path) -> None:
    assert run(import_(archive, tmp_path, "village")).fleet == "village"

    text = FleetFolder(tmp_path, "village").manifest_text()
    assert read_text(text, tmp_path, "manifest").manifest.metadata.name == "village"


def test_what_an_agent_takes_back_does_not_stay_with_the_hive_for_ever(home: Path, tmp_path: Path) -> None:
    async def play() -> None:
        shutil.copytree(home, tmp_path / "home")
        async with await open_memory(Settings(home=tmp_path / "home", embed="none"), "ann") as memory:
            fact = next(fact for fact in await memory.get_all_facts() if fact.content == SAID[1])
            await memory.retract_fact(fact.id)
        await export(tmp_path / "home", "town", tmp_path / "a.zip")
        await import_(tmp_path / "a.zip", tmp_path / "to")

    run(play())

    assert set(provenance(tmp_path / "to")) == {SAID[0], SAID[2]}


# ── exporting what runs ───────────────────────────────────────────────────────────────────────────────────────────────


def running(home: Path, tmp_path: Path) -> Path:
    """A copy of the fleet of which an agent is said to run."""
    shutil.copytree(home, tmp_path / "home")
    folder = FleetFolder(tmp_path / "home", "town")
    allocation = {"town": {"n0": ("ann",)}}
    state = folder.state()
    folder.keep(FleetState(**{name: getattr(state, name) for name in state.__struct_fields__} | {"allocation": allocation}))
    return tmp_path / "home"


def test_an_agent_that_runs_is_asked(home: Path, tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    async def call(agent: str, what: str, **_: object) -> Any:
        asked.append((agent, what))
        return {"lines": exported_lines}

    exported_lines = exported(home, "ann")
    there = running(home, tmp_path)

    assert run(export(there, "town", tmp_path / "a.zip", call=call)).lines == 4
    assert asked == [("ann", "export")]


def test_a_fleet_that_runs_is_exported_and_runs_on(tmp_path: Path) -> None:
    async def play() -> None:
        async with HiveController.open(tmp_path / "home", "town") as controller:
            await controller.apply(read_text(manifest("sharded"), tmp_path, "manifest"))
            try:
                await controller.call("ann", "store", content=SAID[0], concept="pump")
                done = await export(tmp_path / "home", "town", tmp_path / "a.zip", call=controller.call)
                assert (done.agents, done.lines, done.assertions) == (("ann", "ben"), 1, 1)
                (hit,) = (await controller.call("ben", "search", query="pump"))["hits"]
                assert hit["content"] == SAID[0]
            finally:
                await controller.delete()
        await import_(tmp_path / "a.zip", tmp_path / "to")

    run(play())

    assert set(provenance(tmp_path / "to")) == {SAID[0]}


def test_one_that_was_said_to_run_and_does_not_is_read(home: Path, tmp_path: Path) -> None:
    async def call(*_: Any, **__: Any) -> Any:
        raise BackendUnavailable("local", "it does not run")

    assert run(export(running(home, tmp_path), "town", tmp_path / "a.zip", call=call)).lines == 4


def test_a_memory_that_somebody_has_open_is_an_error_and_leaves_no_archive(home: Path, tmp_path: Path) -> None:
    async def play() -> None:
        there = running(home, tmp_path)
        async with await open_memory(Settings(home=there, embed="none"), "ann"):
            with pytest.raises(DatabaseLocked):
                await export(there, "town", tmp_path / "a.zip")

    run(play())
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_there_has_to_be_a_fleet(home: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no fleet 'city'"):
        run(export(home, "city", tmp_path / "a.zip"))
    with pytest.raises(InvalidInput, match="can't be written"):
        run(export(home, "town", tmp_path / "nowhere" / "a.zip"))


# ── homes that are not empty ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("there", ["agents/ben/memory.kuzu", "hives/town/x.sqlite", "fleets/town/state.json"])
def test_nothing_that_is_there_is_touched(archive: Path, tmp_path: Path, there: str) -> None:
    path = tmp_path / "home" / there
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    before = paths(tmp_path / "home")

    with pytest.raises(InvalidInput, match="already"):
        run(import_(archive, tmp_path / "home"))

    assert paths(tmp_path / "home") == before


class Killed(BaseException):
    """The process is no more."""


def test_whoever_is_killed_while_importing_imports_again(
    home: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tidy = Path.rename, shutil.rmtree
    for steps in range(4):
        to, left = tmp_path / str(steps), [steps]

        def rename(self: Path, target: Path, left: list[int] = left, to: Path = to) -> Path:
            if target.is_relative_to(to) and ".import" not in str(target):
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
            return real(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", rename)
            patch.setattr(restoring, "_tidy", lambda *_, **__: None)
            with suppress(Killed):
                run(import_(archive, to))
        if left[0] < 0:
            assert not FleetFolder(to, "town").exists
            run(import_(archive, to))
        assert provenance(to) == provenance(home)
        assert exported(to, "ann") == exported(home, "ann")
        tidy(to)


def test_a_fleet_that_was_purged_since_is_imported_anew(
    home: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise Killed

    to = tmp_path / "to"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", _unless(Path.unlink, "complete", killed))
        with suppress(Killed):
            run(import_(archive, to))
    for name in ("agents", "hives", "fleets"):
        shutil.rmtree(to / name)

    run(import_(archive, to))

    assert exported(to, "ann") == exported(home, "ann")
    assert [path.name for path in to.iterdir() if path.name.startswith(".")] == []


def _unless(real: Callable[..., Any], name: str, other: Callable[..., Any]) -> Callable[..., Any]:
    def called(path: Path, *given: Any, **options: Any) -> Any:
        return other(path) if path.name == name else real(path, *given, **options)

    return called


def test_another_archive_waits_for_one_that_was_cut_short(
    home: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(restoring._Import, "_put_in_place", fail)
        with suppress(Killed):
            run(import_(archive, tmp_path / "to"))
    run(export(home, "town", tmp_path / "b.zip"))

    with pytest.raises(InvalidInput, match="another archive"):
        run(import_(tmp_path / "b.zip", tmp_path / "to"))
    assert run(import_(archive, tmp_path / "to")).agents == ("ann", "ben")


# ── archives that are none ────────────────────────────────────────────────────────────────────────────────────────────

Change = Callable[[dict[str, bytes]], None]


def changed(archive: Path, tmp_path: Path, change: Change, *, resealed: bool = True) -> Path:
    """The archive with other members; `resealed`: by somebody who knows how digests are made."""
    with zipfile.ZipFile(archive) as found:
        members = {name: found.read(name) for name in found.namelist()}
    change(members)
    if resealed and "archive.json" in members:
        with suppress(ValueError, RecursionError):
            about = json.loads(members["archive.json"])
            about["digests"] = {name: sha256(body).hexdigest() for name, body in members.items() if name != "archive.json"}
            members["archive.json"] = json.dumps(about).encode()
    path = tmp_path / "hostile.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, body in members.items():
            made.writestr(name, body)
    return path


def put(name: str, body: bytes | None) -> Change:
    def change(members: dict[str, bytes]) -> None:
        if body is None:
            del members[name]
        else:
            members[name] = body

    return change


def in_hive(old: bytes, new: bytes) -> Change:
    def change(members: dict[str, bytes]) -> None:
        assert old in members["hive.jsonl"]
        members["hive.jsonl"] = members["hive.jsonl"].replace(old, new, 1)

    return change


def about(**fields: Any) -> Change:
    def change(members: dict[str, bytes]) -> None:
        members["archive.json"] = json.dumps(json.loads(members["archive.json"]) | fields).encode()

    return change


def is_refused(path: Path, tmp_path: Path, why: str) -> None:
    to = tmp_path / "to"
    with pytest.raises(HiveError, match=why) as failure:
        run(import_(path, to))
    assert len(str(failure.value)) < 4_000
    assert not to.exists()
    assert {one.name for one in tmp_path.iterdir()} <= {"hostile.zip"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (put("../../etc/passwd", b"x"), "has no place in it"),
        (put("agents/../x.jsonl", b"x"), "has no place in it"),
        (put("agents/...jsonl", b"x"), "can't be used"),
        (put("agents/a b.jsonl", b"x"), "can't be used"),
        (put("/agents/x.jsonl", b"x"), "has no place in it"),
        (put("agents/x\\y.jsonl", b"x"), "can't be used"),
        (put("run.sh", b"x"), "has no place in it"),
        (put("manifest.yaml", None), "it has no manifest.yaml"),
        (put("archive.json", None), "it has no archive.json"),
        (put("archive.json", b"[" * 100_000), "can't be read"),
        (put("archive.json", b"{}"), "can't be read"),
        (about(format="zip"), "calls itself 'zip'"),
        (about(version=2), "newer hive-mind"),
        (about(version=0), "older form"),
        (about(fleet="../x"), "can't be used"),
        (put("manifest.yaml", b"kind: Hive"), "manifest"),
        (put("manifest.yaml", b"\xff"), "no UTF-8"),
        (put("manifest.yaml", b"spec: !!python/object/apply:os.system ['true']"), "manifest"),
        (put("agents/ann.jsonl", b"nonsense"), "what ann remembers can't be read"),
        (put("agents/ann.jsonl", b"\xff\xfe"), "UTF-8"),
        (put("agents/ann.sources", b"[1]"), "has learned"),
        (put("hive.jsonl", b'{"type": "assertion"}\nnonsense'), "line 1: .*\n *line 2: "),
        (put("hive.jsonl", b"[" * 100_000), "line 1"),
        (in_hive(b'"type":"assertion"', b'"type":"removal"'), "line 1: .*removal"),
        (in_hive(SAID[0].encode(), b"Pump 1 is green."), "line 1: the id is not that of the content"),
        (in_hive(b'"confidence":0.8', b'"confidence":8'), "line 1: a confidence is"),
        (in_hive(b'"key":"trust/ann"', b'"key":"root/ann"'), "line 5: a key is one of"),
        (in_hive(b'"tenant":"default"', b'"tenant":"rivals"'), "line 1: the id is not that"),
    ],
)
def test_a_hostile_archive_is_refused_with_a_reason_and_changes_nothing(
    archive: Path, tmp_path: Path, change: Change, why: str
) -> None:
    is_refused(changed(archive, tmp_path, change), tmp_path, why)


def test_a_member_that_was_changed_is_noticed(archive: Path, tmp_path: Path) -> None:
    path = changed(archive, tmp_path, put("agents/ann.jsonl", b""), resealed=False)

    is_refused(path, tmp_path, "is not what was written")


def test_a_bomb_does_not_go_off(archive: Path, tmp_path: Path) -> None:
    is_refused(changed(archive, tmp_path, put("agents/ann.jsonl", bytes(64 << 20))), tmp_path, "far larger than what is there")


def test_a_member_named_twice_is_refused(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "hostile.zip"
    shutil.copy(archive, path)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as made:
        made.writestr("hive.jsonl", b"")

    is_refused(path, tmp_path, "is there twice")


@pytest.mark.parametrize("at", range(0, 100, 4))
def test_a_damaged_file_is_told_as_such(archive: Path, tmp_path: Path, at: int) -> None:
    """Somewhere in it a few bytes are others."""
    body = bytearray(archive.read_bytes())
    place = len(body) * at // 100
    body[place : place + 16] = bytes(byte ^ 0x5A for byte in body[place : place + 16])
    path = tmp_path / "hostile.zip"
    path.write_bytes(body)

    is_refused(path, tmp_path, r"hostile\.zip|fleet")


@pytest.mark.parametrize("keep", [0, 10, 0.5, -1])
def test_a_file_that_is_cut_off_is_told_as_such(archive: Path, tmp_path: Path, keep: float) -> None:
    body = archive.read_bytes()
    path = tmp_path / "hostile.zip"
    path.write_bytes(body[: round(keep * len(body)) if 0 < keep < 1 else int(keep)])

    is_refused(path, tmp_path, "is no archive of hive-mind")


def test_a_file_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    is_refused(tmp_path / "hostile.zip", tmp_path, "can't be read: No such file")
