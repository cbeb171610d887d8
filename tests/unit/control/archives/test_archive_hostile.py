"""Nothing of an archive from elsewhere is believed: it is refused with a reason, and nothing is changed."""

import json
import shutil
import zipfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hive_mind.control.archive import import_
from hive_mind.errors import HiveError
from tests.builders import run
from tests.unit.control.archived import SAID

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
        (in_hive(SAID[0].encode(), b"Pump 1 is green."), "line 1: the id does not match the content"),
        (in_hive(b'"confidence":0.8', b'"confidence":8'), "line 1: a confidence is"),
        (in_hive(b'"key":"trust/ann"', b'"key":"root/ann"'), "line 5: a key is one of"),
        (in_hive(b'"tenant":"default"', b'"tenant":"rivals"'), "line 1: the id does not match"),
    ],
)
def test_a_hostile_archive_is_refused_with_a_reason_and_changes_nothing(
    archive: Path, tmp_path: Path, change: Change, why: str
) -> None:
    is_refused(changed(archive, tmp_path, change), tmp_path, why)


@pytest.mark.parametrize(
    ("body", "resealed", "why"),
    [(b"", False, "is not what was written"), (bytes(64 << 20), True, "far larger than what is there")],
    ids=["changed", "a bomb"],
)
def test_a_member_that_was_changed_is_noticed_and_a_bomb_does_not_go_off(
    archive: Path, tmp_path: Path, body: bytes, why: str, *, resealed: bool
) -> None:
    is_refused(changed(archive, tmp_path, put("agents/ann.jsonl", body), resealed=resealed), tmp_path, why)


def test_a_member_named_twice_is_refused(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "hostile.zip"
    shutil.copy(archive, path)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as made:
        made.writestr("hive.jsonl", b"")
    is_refused(path, tmp_path, "is there twice")


def test_a_file_that_is_damaged_or_cut_off_anywhere_is_told_as_such(archive: Path, tmp_path: Path) -> None:
    body, path = archive.read_bytes(), tmp_path / "hostile.zip"
    for at in range(0, 100, 8):
        place = len(body) * at // 100
        # A few bytes are others.
        path.write_bytes(body[:place] + bytes(byte ^ 0x5A for byte in body[place : place + 16]) + body[place + 16 :])
        is_refused(path, tmp_path, r"hostile\.zip|fleet")
    for end in (0, 10, len(body) // 2, -1):
        path.write_bytes(body[:end])
        is_refused(path, tmp_path, "is not an archive of hive-mind")


def test_a_file_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    is_refused(tmp_path / "hostile.zip", tmp_path, "can't be read: No such file")
