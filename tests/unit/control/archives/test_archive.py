"""A fleet in one file and back: nothing is lost on the way, also of one that runs meanwhile.

An archive is imported where something is already: nothing of it is touched, and an import that was cut short is done again.
An archive of a fleet with identity is signed by its root: what was changed is refused, and another root where one is named.
"""

import asyncio
import json
import shutil
import stat
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hive_mind.control import archive as archive_module
from hive_mind.control.archive import Archived, export, import_
from hive_mind.control.controller import HiveController
from hive_mind.control.manifests.reading import read_text
from hive_mind.control.state import FleetFolder, FleetState
from hive_mind.errors import BackendUnavailable, InvalidInput, ManifestError
from hive_mind.runtime.keys import KeyFolder
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_memory
from hive_mind.safe_files import sync_folder
from tests.unit.control.archived import SAID, exported, manifest, provenance, run, stopped_fleet
from tests.unit.runtime.moving import held


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


async def test_an_imported_fleet_was_of_no_other_topology_before_and_its_agents_are_taken(archive: Path, tmp_path: Path) -> None:
    await import_(archive, tmp_path / "home")
    async with HiveController.open(tmp_path / "home", "town") as controller:
        plan = await controller.plan(read_text(manifest(), tmp_path, "manifest"))
    assert [one.why for one in plan.actions if one.kind == "move"] == [
        "it was restored from an archive, so its hive is founded anew"
    ]
    async with HiveController.open(tmp_path / "home", "village") as controller:
        with pytest.raises(ManifestError, match="fleet 'town' has ann, ben already"):
            await controller.plan(read_text(manifest(name="village"), tmp_path, "manifest"))


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
            found = await held(tmp_path / "home", hive)
            # As many roots as before; and what the agents still had to say added nothing.
            roots = {(fact.content, len({one.root for one in fact.provenance})) for fact in found}
            assert roots >= {(SAID[0], 3), (SAID[1], 2)}

    run(play())


def test_a_fleet_can_be_imported_under_another_name(archive: Path, tmp_path: Path) -> None:
    assert run(import_(archive, tmp_path, "village")).fleet == "village"
    assert read_text(FleetFolder(tmp_path, "village").manifest_text(), tmp_path, "manifest").manifest.metadata.name == "village"


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


def running(home: Path, tmp_path: Path) -> Path:
    """A copy of the fleet of which an agent is said to run."""
    shutil.copytree(home, tmp_path / "home")
    folder = FleetFolder(tmp_path / "home", "town")
    allocation = {"town": {"n0": ("ann",)}}
    state = folder.state()
    folder.keep(FleetState(**{name: getattr(state, name) for name in state.__struct_fields__} | {"allocation": allocation}))
    return tmp_path / "home"


def test_an_agent_that_runs_is_asked_and_one_that_was_said_to_run_and_does_not_is_read(home: Path, tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []
    exported_lines, there = exported(home, "ann"), running(home, tmp_path)

    async def call(agent: str, what: str, **_: object) -> Any:
        asked.append((agent, what))
        return {"lines": exported_lines}

    async def gone(*_: Any, **__: Any) -> Any:
        raise BackendUnavailable("local", "it is not running")

    assert run(export(there, "town", tmp_path / "a.zip", call=call)).lines == 4
    assert asked == [("ann", "export")]
    assert run(export(there, "town", tmp_path / "b.zip", call=gone)).lines == 4


def test_a_memory_that_somebody_has_open_is_archived_as_it_is_then(home: Path, tmp_path: Path) -> None:
    there = running(home, tmp_path)

    async def play() -> int:
        async with await open_memory(Settings(home=there, embed="none"), "ann"):
            return (await export(there, "town", tmp_path / "a.zip")).lines

    assert run(play()) == run(export(there, "town", tmp_path / "b.zip")).lines


def test_there_has_to_be_a_fleet_and_a_file_of_it_that_can_not_be_read_is_the_one_that_is_named(
    home: Path, tmp_path: Path
) -> None:
    for name, file, why in (("city", "a.zip", "no fleet 'city'"), ("town", "nowhere/a.zip", "can't be written")):
        with pytest.raises(InvalidInput, match=why):
            run(export(home, name, tmp_path / file))
    there = running(home, tmp_path)
    for file in ("manifest.yaml", "state.json"):
        path = there / "fleets" / "town" / file
        path.rename(path.with_suffix(".kept"))
        path.mkdir()
        with pytest.raises(InvalidInput, match=rf"{file} can't be read.*Is a directory"):
            run(export(there, "town", tmp_path / "a.zip"))
        path.rmdir()
        path.with_suffix(".kept").rename(path)
    assert not (tmp_path / "a.zip").exists()


def paths(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("there", ["agents/ben/memory.sqlite", "hives/town/x.sqlite", "fleets/town/state.json"])
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


def test_who_is_killed_in_it_imports_again(home: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
            patch.setattr(archive_module, "_tidy", lambda *_, **__: None)
            with suppress(Killed):
                run(import_(archive, to))
        if is_killed := left[0] < 0:
            assert not FleetFolder(to, "town").exists
            run(import_(archive, to))
        assert provenance(to) == provenance(home)
        assert exported(to, "ann") == exported(home, "ann")
        assert is_killed == (steps < 3)
        tidy(to)


async def test_told_to_end_in_its_last_steps_all_of_it_is_imported(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, importing = asyncio.get_running_loop(), asyncio.create_task(import_(archive, tmp_path / "to"))
    cancelled: list[object] = []

    def sync(folder: Path) -> None:
        loop.call_soon_threadsafe(lambda: cancelled.append(importing.cancel()))
        sync_folder(folder)

    monkeypatch.setattr(archive_module, "sync_folder", sync)
    await asyncio.wait([importing])

    assert cancelled
    assert FleetFolder(tmp_path / "to", "town").state().is_stopped


@pytest.fixture
def whole(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home where somebody was killed when all was imported but for the note of it."""

    def killed(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", _unless(Path.unlink, "complete", killed))
        patch.setattr(archive_module, "_tidy", lambda *_, **__: None)
        with pytest.raises(Killed):
            run(import_(archive, tmp_path / "to"))
    return tmp_path / "to"


def test_a_fleet_that_was_imported_but_for_the_note_of_it_is_imported_again(home: Path, archive: Path, whole: Path) -> None:
    run(import_(archive, whole))

    assert exported(whole, "ann") == exported(home, "ann")
    assert [path.name for path in whole.iterdir() if path.name.startswith(".")] == []
    with pytest.raises(InvalidInput, match="already"):
        run(import_(archive, whole))


def test_what_was_done_with_an_imported_fleet_since_stays(archive: Path, whole: Path) -> None:
    folder = FleetFolder(whole, "town")
    folder.keep(replace(folder.state(), revision=2))
    with pytest.raises(InvalidInput, match="already"):
        run(import_(archive, whole))


def test_a_fleet_that_was_purged_since_is_imported_anew(home: Path, archive: Path, whole: Path) -> None:
    to = whole
    for name in ("agents", "hives", "fleets"):
        shutil.rmtree(to / name)

    run(import_(archive, to))

    assert exported(to, "ann") == exported(home, "ann")
    assert [path.name for path in to.iterdir() if path.name.startswith(".")] == []


def _unless(real: Callable[..., Any], name: str, other: Callable[..., Any]) -> Callable[..., Any]:
    def called(path: Path, *given: Any, **options: Any) -> Any:
        return other(path) if path.name == name else real(path, *given, **options)

    return called


def test_another_archive_waits_for_a_cut_one(home: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(archive_module._Import, "_put_in_place", fail)
        with suppress(Killed):
            run(import_(archive, tmp_path / "to"))
    run(export(home, "town", tmp_path / "b.zip"))

    with pytest.raises(InvalidInput, match="another archive"):
        run(import_(tmp_path / "b.zip", tmp_path / "to"))
    assert run(import_(archive, tmp_path / "to")).agents == ("ann", "ben")


def keys_of(home: Path) -> KeyFolder:
    return KeyFolder(home / "fleets" / "town" / "keys", "town")


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """An archive, and the id of the root that signed it."""
    folder = tmp_path_factory.mktemp("signed")
    home = stopped_fleet(folder / "home")
    root = keys_of(home).found()
    path = folder / "town.zip"
    assert run(export(home, "town", path)).root == root.id.hex()
    return path, root.id.hex()


def changed(path: Path, to: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The same archive with another `archive.json`."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(to, "w") as target:
        for name in source.namelist():
            body = source.read(name)
            if name == "archive.json":
                about = json.loads(body)
                change(about)
                body = json.dumps(about).encode()
            target.writestr(name, body)
    return to


def test_it_is_taken_and_says_who_signed_it(signed: tuple[Path, str], tmp_path: Path) -> None:
    path, root = signed
    assert run(import_(path, tmp_path / "home", root=root[:12])).root == root


def test_of_another_root_it_is_refused_and_nothing_is_changed(signed: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="was signed by root"):
        run(import_(signed[0], tmp_path / "home", root="0000"))
    assert not (tmp_path / "home").exists()


def other_digest(about: dict[str, Any]) -> None:
    about["digests"]["hive.jsonl"] = "0" * 64


def other_fleet(about: dict[str, Any]) -> None:
    about["fleet"] = "village"


def other_signature(about: dict[str, Any]) -> None:
    about["signature"] = "AAAA"


@pytest.mark.parametrize("change", [other_digest, other_fleet, other_signature])
def test_what_was_changed_since_is_refused(
    change: Callable[[dict[str, Any]], None], signed: tuple[Path, str], tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="was changed after signing"):
        run(import_(changed(signed[0], tmp_path / "town.zip", change), tmp_path / "home"))


def test_who_takes_the_signature_off_is_found_out_where_a_root_is_named(signed: tuple[Path, str], tmp_path: Path) -> None:
    def unsigned(about: dict[str, Any]) -> None:
        del about["root"], about["signature"]

    path = changed(signed[0], tmp_path / "town.zip", unsigned)
    with pytest.raises(InvalidInput, match="was signed by nobody"):
        run(import_(path, tmp_path / "home", root=signed[1]))


def test_without_the_key_of_its_root_a_fleet_is_exported_unsigned(tmp_path: Path) -> None:
    home = stopped_fleet(tmp_path / "home")
    keys_of(home).found()
    shutil.move(home / "fleets" / "town" / "keys" / "root.key", tmp_path)
    assert run(export(home, "town", tmp_path / "town.zip")).root == ""
