"""What every store of `hive_mind/credentials/` must do. A new back end is judged here the moment it exists."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.credentials import CREDENTIALS_MAX, CredentialStore
from hive_mind.errors import InvalidInput
from tests.unit.credentials.stores import revealed, store_in


@pytest.fixture(params=backends.known("credentials"))
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(backend: str, tmp_path: Path) -> CredentialStore:
    return store_in(tmp_path / "credentials", backend=backend)


def test_there_is_one() -> None:
    assert backends.known("credentials") == ("fernet",)


def test_a_new_store_is_empty_and_asking_makes_no_file(store: CredentialStore, tmp_path: Path) -> None:
    assert (store.names(), store.get("tickets"), store.delete("tickets"), store.rotate()) == ((), None, False, 0)
    assert list(tmp_path.iterdir()) == []


def test_what_was_set_is_there_for_others_and_after_a_restart(store: CredentialStore, backend: str, tmp_path: Path) -> None:
    assert store.set("tickets", "sw0rdfish-7\nof two lines, ü")
    assert store.set("redis", "another-1")
    assert not store.set("redis", "another-2")

    again = store_in(tmp_path / "credentials", backend=backend)
    assert again.names() == ("redis", "tickets")
    assert revealed(again) == {"redis": "another-2", "tickets": "sw0rdfish-7\nof two lines, ü"}


def test_what_was_deleted_is_gone_and_the_others_stay(store: CredentialStore) -> None:
    store.set("tickets", "sw0rdfish-7")
    store.set("redis", "another-1")
    assert store.delete("tickets")
    assert not store.delete("tickets")
    assert (store.get("tickets"), revealed(store)) == (None, {"redis": "another-1"})


def test_a_new_key_changes_no_value(store: CredentialStore, backend: str, tmp_path: Path) -> None:
    store.set("tickets", "sw0rdfish-7")
    store.set("redis", "another-1")
    assert [store.rotate(), store.rotate()] == [2, 2]
    assert revealed(store_in(tmp_path / "credentials", backend=backend)) == {"redis": "another-1", "tickets": "sw0rdfish-7"}


def test_what_can_not_be_is_refused_and_changes_nothing(store: CredentialStore) -> None:
    store.set("tickets", "sw0rdfish-7")
    for name, value in (("tickets", "abc"), ("Tickets", "sw0rdfish-8"), ("tickets", "x\0xxx")):
        with pytest.raises(InvalidInput):
            store.set(name, value)
    assert revealed(store) == {"tickets": "sw0rdfish-7"}


def test_it_is_full_one_day(store: CredentialStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CREDENTIALS_MAX == 1_000
    monkeypatch.setattr("hive_mind.credentials.fernet.CREDENTIALS_MAX", 2)
    store.set("one", "sw0rdfish-1")
    store.set("two", "sw0rdfish-2")

    with pytest.raises(InvalidInput, match="delete one"):
        store.set("three", "sw0rdfish-3")
    assert not store.set("two", "sw0rdfish-4")


def test_threads_lose_nothing_of_each_other(backend: str, tmp_path: Path) -> None:
    def add(number: int) -> None:
        store_in(tmp_path, backend=backend).set(f"name-{number}", f"value-{number}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, range(40)))

    assert revealed(store_in(tmp_path, backend=backend)) == {f"name-{n}": f"value-{n}" for n in range(40)}
