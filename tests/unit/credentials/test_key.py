"""Keys: in a variable, in a file, in a keyring; and what is none."""

import base64
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from hive_mind.credentials import FileKey, GivenKey, KeyringKey, new_key
from hive_mind.errors import BackendNotInstalled, BackendUnavailable, CredentialUnreadable
from hive_mind.safe_files import write_whole
from tests.unit.credentials.stores import revealed, store_in


class Ring(KeyringBackend):
    """A keyring in RAM."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise KeyringLocked("it stays closed")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


@pytest.fixture
def ring() -> Iterator[Ring]:
    before, ring = keyring.get_keyring(), Ring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


def test_a_place_holds_what_was_put_there(tmp_path: Path, ring: Ring) -> None:
    for place in (FileKey(tmp_path / "key", write_whole), KeyringKey("/home/somebody/.hive")):
        assert place.keys() == ()
        place.keep(keys := (new_key(), new_key()))
        assert place.keys() == keys
    assert [service for service, _ in ring.kept] == ["hive-mind credentials"]


def test_a_store_uses_the_keyring_and_leaves_no_key_on_disk(tmp_path: Path, ring: Ring) -> None:
    store = store_in(tmp_path, KeyringKey("home"))
    store.set("tickets", "sw0rdfish-7")
    first = dict(ring.kept)

    assert store.rotate() == 1
    assert ring.kept != first
    assert revealed(store_in(tmp_path, KeyringKey("home"))) == {"tickets": "sw0rdfish-7"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["credentials.json", "credentials.json.turn"]


def test_a_keyring_that_stays_closed_is_told_with_what_to_do(ring: Ring) -> None:
    ring.is_locked = True
    with pytest.raises(BackendUnavailable, match=r"KeyringLocked.*HIVE_MIND_CREDENTIALS_KEY_IN=file"):
        KeyringKey("home").keys()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(BackendNotInstalled, match=r"install .*\[credentials\]"):
        KeyringKey("home").keys()


def test_both_alphabets_of_base64_are_taken(tmp_path: Path) -> None:
    raw = b"\xfb\xff" * 16
    plain, safe = base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()
    store_in(tmp_path, GivenKey(plain)).set("tickets", "sw0rdfish-7")
    assert "+" in plain
    assert revealed(store_in(tmp_path, GivenKey(safe))) == {"tickets": "sw0rdfish-7"}


WHOLE = base64.urlsafe_b64encode(bytes(range(32))).decode()


@pytest.mark.parametrize("text", ["hunter2", "", " ", base64.b64encode(bytes(31)).decode(), "ü" * 44, f"{WHOLE} x"])
def test_what_is_no_key_is_told_and_not_repeated(text: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(text)
    for place in (GivenKey(text), FileKey(tmp_path / "key", write_whole)):
        with pytest.raises(CredentialUnreadable, match="openssl rand -base64 32") as failed:
            place.keys()
        assert len(text) < 3 or text not in str(failed.value)


def test_keys_are_never_the_same() -> None:
    assert len({new_key() for _ in range(100)}) == 100
