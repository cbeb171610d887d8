"""`hive-mind keys` as a person and a program use it, and members outside of fleets that prove themselves by them."""

import stat
from pathlib import Path

import pytest

from hive_mind.runtime.keys import KeyFolder
from tests.acceptance.hive_mind_command import HiveMind


@pytest.fixture
def keys(hive_mind: HiveMind, tmp_path: Path) -> Path:
    assert hive_mind("keys", "init", "--keys", tmp_path / "town").code == 0
    return tmp_path / "town"


def test_a_root_issues_lists_rotates_and_revokes(hive_mind: HiveMind, keys: Path) -> None:
    issued = hive_mind("keys", "issue", "eve", "--agent", "eves-agent", "--days", "30", "--keys", keys, "-o", "json").json
    assert issued["names"] == ["eve", "eves-agent"]
    rotated = hive_mind("keys", "rotate", "eve", "--keys", keys, "-o", "json").json
    assert (rotated["names"], rotated["key"] == issued["key"]) == (issued["names"], False)

    assert hive_mind("keys", "revoke", issued["key"][:10], "--since", "2026-11-24T09:30", "--keys", keys).code == 0

    listed = {one["key"]: one["state"] for one in hive_mind("keys", "list", "--keys", keys, "-o", "json").json}
    assert listed == {issued["key"]: "revoked", rotated["key"]: "good"}
    assert "eves-agent" in hive_mind("keys", "list", "--keys", keys).out


def test_a_name_that_looks_like_the_beginning_of_a_key_is_the_name(hive_mind: HiveMind, keys: Path) -> None:
    named = KeyFolder(keys, keys.name).issue("a")
    assert any(KeyFolder(keys, keys.name).issue(f"process-{n}").key_id.hex().startswith("a") for n in range(300))

    revoked = hive_mind("keys", "revoke", "a", "--keys", keys, "-o", "json").json

    assert (revoked["name"], revoked["key"]) == ("a", named.key_id.hex())


def test_what_is_exported_is_what_one_process_needs_and_never_the_root(hive_mind: HiveMind, keys: Path, tmp_path: Path) -> None:
    for name in ("eve", "bob"):
        hive_mind("keys", "issue", name, "--keys", keys)
    assert hive_mind("keys", "export", tmp_path / "eve", "--name", "eve", "--keys", keys).code == 0
    files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "eve").iterdir()}
    assert files == {"root.pub": 0o644, "eve.key": 0o600, "eve.cert": 0o644, "bob.cert": 0o644}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("init",), "has a root already"),
        (("rotate", "nobody"), "hive-mind keys issue nobody"),
        (("revoke", "nobody"), "hive-mind keys list"),
        (("revoke", "eve", "--since", "yesterday"), "is not a time"),
        (("export", "out", "--name", "nobody"), "hive-mind keys issue nobody"),
        (("list", "--fleet", "town"), "not both"),
    ],
)
def test_what_can_not_be_done_says_what_to_do(hive_mind: HiveMind, keys: Path, arguments: tuple[str, ...], told: str) -> None:
    hive_mind("keys", "issue", "eve", "--keys", keys)
    ended = hive_mind("keys", *arguments, "--keys", keys)
    assert ended.code == 2
    assert told in " ".join(ended.err.split())
