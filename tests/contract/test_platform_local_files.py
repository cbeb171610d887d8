"""Files of processes of this machine: for their owner alone, no links, and no secret that is only referred to."""

import json
import shutil
from pathlib import Path

import psutil
import pytest

from hive_mind.control.platforms import local
from hive_mind.control.processes.log_reading import last_lines
from hive_mind.errors import BackendRejected, InvalidInput
from hive_mind.runtime.secrets import credentials_of
from tests.contract.platforms import FAKE, Ground, contact_of


async def test_nobody_else_can_read_what_it_is_told_and_how_to_reach_it(ground: Ground) -> None:
    ground.folder.chmod(0o755)
    await (await ground.open()).close()
    await ground.start("ada")

    modes = {path: path.stat().st_mode & 0o777 for path in (ground.folder, *ground.folder.rglob("*"))}

    assert {modes[path] for path in {path for path in modes if path.is_dir()}} == {0o700}
    assert {modes[path] & 0o077 for path in modes if path.suffix in (".json", ".lock", ".begun", ".out")} == {0}


async def test_links_in_its_folders_lead_nowhere(ground: Ground, tmp_path: Path) -> None:
    found = await ground.start("ada")
    aside = tmp_path / "aside.json"
    aside.write_text(json.dumps(contact_of(ground, "ada")))
    for name in ("config/ben.json", "run/ben.json", "logs/ben.out", "logs/ben.log"):
        (ground.folder / name).symlink_to(aside)

    before = aside.read_bytes()
    assert not (await ground.platform.observe()).get("ben", None)
    assert last_lines(ground.folder / "logs" / "ben.log", 9) == []
    await ground.platform.stop("ben", 0.2)
    (ground.folder / "logs" / "ben.log").unlink()
    await ground.start("ben")

    assert aside.read_bytes() == before
    assert (await ground.platform.observe())["ada"].pid == found.pid


async def test_who_only_looks_leaves_nothing_behind(tmp_path: Path) -> None:
    platform = await local.open(tmp_path / "home" / "fleets" / "town", tmp_path / "home", FAKE)
    assert await platform.observe() == {}
    await platform.close()
    assert not (tmp_path / "home").exists()


async def test_what_a_process_writes_is_for_its_owner_alone(ground: Ground) -> None:
    await ground.start("ada")
    assert {path.stat().st_mode & 0o077 for path in ground.folder.rglob("*")} == {0}


@pytest.mark.parametrize("part", ["run", "config", "logs"])
async def test_a_folder_that_is_a_link_is_refused(ground: Ground, tmp_path: Path, part: str) -> None:
    shutil.rmtree(ground.folder / part)
    (tmp_path / "elsewhere").mkdir()
    (ground.folder / part).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BackendRejected, match="link"):
        await ground.platform.start(ground.config("ada"))

    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_variables_reach_the_process_and_references_stay_out_of_files(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWN_SECRET", "s3cret")
    assert psutil.Process((await ground.start("ada", KEY="${env:TOWN_SECRET}")).pid).environ()["KEY"] == "s3cret"
    assert all(b"s3cret" not in path.read_bytes() for path in ground.folder.rglob("*") if path.is_file())


async def test_a_credential_gets_into_the_process_and_not_into_what_others_see_of_it(ground: Ground) -> None:
    credentials_of(ground.home).set("tickets", "sw0rdfish-7")
    found = await ground.start("ada", KEY="<${credential:tickets}>", PLAIN="yes")

    seen = psutil.Process(found.pid).environ()
    assert (seen.get("KEY"), seen["PLAIN"]) == (None, "yes")
    assert not any("sw0rdfish-7" in text for text in (*seen.values(), *psutil.Process(found.pid).cmdline()))
    assert all(b"sw0rdfish-7" not in path.read_bytes() for path in ground.home.rglob("*") if path.is_file())


async def test_a_credential_that_is_not_set_is_told_and_nothing_is_started(ground: Ground) -> None:
    with pytest.raises(InvalidInput, match="hive-mind credentials set tickets"):
        await ground.platform.start(ground.config("ada", KEY="${credential:tickets}"))
    assert await ground.platform.observe() == {}


async def test_a_reference_that_stands_for_nothing_is_told_and_nothing_is_started(ground: Ground) -> None:
    with pytest.raises(InvalidInput, match="NOBODY_SET_THIS"):
        await ground.platform.start(ground.config("ada", KEY="${env:NOBODY_SET_THIS}"))
    assert await ground.platform.observe() == {}
