"""An archive of a fleet with identity is signed by its root: what was changed is refused, and another root where one is named."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hive_mind.control.archive import export, import_
from hive_mind.errors import InvalidInput
from hive_mind.runtime.keys import KeyFolder
from tests.unit.control.archived import run, stopped_fleet


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
