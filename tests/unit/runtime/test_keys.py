"""The folder of keys: the root issues, secrets are the owner's alone, and what is missing or broken says what to do."""

import stat
import time
from pathlib import Path

import pytest

from hive_mind.errors import ConfigError, InvalidInput
from hive_mind.runtime.keys import KeyFolder


@pytest.fixture
def keys(tmp_path: Path) -> KeyFolder:
    made = KeyFolder(tmp_path / "keys", "halvay")
    made.found()
    return made


def test_secrets_are_for_their_owner_alone(keys: KeyFolder) -> None:
    keys.issue("ada")
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in keys.path.iterdir()}
    assert modes == {"root.key": 0o600, "root.pub": 0o644, "ada.key": 0o600, "ada.cert": 0o644}
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o700


def test_a_certificate_is_issued_again_for_the_same_key_and_for_another_where_that_is_wanted(keys: KeyFolder) -> None:
    first, again, anew = keys.issue("ada"), keys.issue("ada", ["agent"]), keys.issue("ada", is_anew=True)
    assert first.public == again.public != anew.public
    assert again.names == ("ada", "agent")


def test_a_renewed_certificate_also_holds_for_what_was_said_before(keys: KeyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    first = keys.issue("ada", days=60)
    monkeypatch.setattr("time.time_ns", lambda: (first.not_before_ms + 40 * 24 * 3600 * 1000) * 1_000_000)
    again, anew = keys.issue("ada"), keys.issue("ada", is_anew=True)

    assert again.not_before_ms == first.not_before_ms
    assert again.not_after_ms > first.not_after_ms
    assert anew.not_before_ms > first.not_before_ms


def test_a_member_whose_clock_is_hours_behind_is_believed_and_believes_right_after_it_was_issued(keys: KeyFolder) -> None:
    keys.issue("ada")
    ring, behind_ms = keys.signing("ada", "require").keyring, time.time_ns() // 1_000_000 - 14 * 3600 * 1000
    assert ring.refusal("ada", b"said", ring.seal(b"said"), behind_ms, is_present=True) == ""


def test_one_that_holds_for_all_of_this_long_enough_need_not_be_issued(keys: KeyFolder) -> None:
    assert not keys.is_issued("ada", (), days_left=30)
    made = keys.issue("ada", ["agent"], days=60)

    assert keys.is_issued("ada", ["agent"], days_left=30)
    assert not keys.is_issued("ada", ["agent", "other"], days_left=30)
    assert not keys.is_issued("ada", ["agent"], days_left=90)
    keys.revoke(made.key_id)
    assert not keys.is_issued("ada", ["agent"], days_left=30)


def test_what_was_revoked_stays_so_and_earlier_counts(keys: KeyFolder) -> None:
    ada, bob = keys.issue("ada").key_id, keys.issue("bob").key_id
    keys.revoke(ada, 500)
    keys.revoke(bob)
    keys.revoke(ada, 900)
    assert keys.revoked == {ada: 500, bob: 0}


def test_names_that_are_no_files_stay_in_the_folder(keys: KeyFolder) -> None:
    keys.issue("../../evil name")
    assert [name for name, _ in keys.certificates()] == ["../../evil name"]
    assert all(file.parent == keys.path for file in keys.path.iterdir())


def test_a_root_is_made_once_and_without_one_nothing_is_issued(tmp_path: Path, keys: KeyFolder) -> None:
    with pytest.raises(InvalidInput, match="has a root already"):
        keys.found()
    with pytest.raises(ConfigError, match="hive-mind keys init"):
        KeyFolder(tmp_path / "none", "halvay").issue("ada")
    (keys.path / "root.key").unlink()
    with pytest.raises(ConfigError, match=r"bring root\.key here"):
        keys.issue("ada")


@pytest.mark.parametrize("name", ["ada.key", "ada.cert", "root.pub"])
@pytest.mark.parametrize("body", [b"", b"not base64!", b"AAAA"])
def test_a_broken_file_is_named(keys: KeyFolder, name: str, body: bytes) -> None:
    keys.issue("ada")
    (keys.path / name).write_bytes(body)
    with pytest.raises(ConfigError, match=str(keys.path)):
        keys.signing("ada", "require")


def test_who_is_issued_for_is_handed_the_epoch_and_another_begins_without_who_is_revoked_or_put_out(keys: KeyFolder) -> None:
    made = {name: keys.issue(name, [f"{name}-node"]) for name in ("ada", "bob", "cleo")}
    assert keys.epoch() is None
    assert not keys.advance("ada")
    keys.admit("ada")
    keys.admit("bob")
    cleo = keys.issue("cleo", ["cleo-node"])
    dora = keys.issue("dora")
    first = keys.epoch()
    assert first is not None
    assert (first.number, set(first.handed)) == (1, {made["ada"].key_id, made["bob"].key_id, cleo.key_id, dora.key_id})

    keys.revoke(made["bob"].key_id)
    keys.advance("cleo-node")
    third = keys.epoch()
    assert third is not None
    assert (third.number, set(third.handed)) == (3, {made["ada"].key_id, dora.key_id})
    # Nothing changes where nobody goes.
    assert not keys.advance()
    assert keys.epoch() == third
    keys.admit("cleo")
    assert cleo.key_id in getattr(keys.epoch(), "handed", {})


def test_an_interrupted_revocation_takes_the_key_of_the_epoch_away_the_next_time(keys: KeyFolder) -> None:
    made = keys.issue("ada")
    keys.admit("ada")
    (epoch,) = keys.path.glob("*.epoch")
    handed = epoch.read_bytes()
    keys.revoke(made.key_id)
    for file in keys.path.glob("*.epoch"):
        file.unlink()
    epoch.write_bytes(handed)

    assert keys.advance()
    assert getattr(keys.epoch(), "handed", None) == {}


def test_of_many_epochs_the_last_are_kept(keys: KeyFolder) -> None:
    keys.issue("ada")
    keys.admit("ada")
    for number in range(9):
        keys.revoke(keys.issue(f"guest-{number}").key_id)
    assert sorted(int(file.stem) for file in keys.path.glob("*.epoch")) == list(range(3, 11))
