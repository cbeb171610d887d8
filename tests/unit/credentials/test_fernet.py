"""The file of tokens: what a wrong key and damage do (nothing), what rotating does, and who may read it."""

import json
import stat
from collections.abc import Callable, Iterator
from errno import ENOSPC
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.credentials import CredentialStore, FileKey, GivenKey, new_key
from hive_mind.errors import BackendError, BackendNotInstalled, CredentialUnreadable, InvalidInput
from hive_mind.safe_files import write_whole
from tests.unit.credentials.stores import file_of, revealed, store_in

KEPT = {"redis": "another-1", "tickets": "sw0rdfish-7"}
CHANGES: list[Callable[[CredentialStore], object]] = [
    lambda store: store.get("tickets"),
    lambda store: store.set("tickets", "sw0rdfish-8"),
    lambda store: store.set("third", "sw0rdfish-9"),
    lambda store: store.delete("tickets"),
    lambda store: store.rotate(),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, value in KEPT.items():
        store_in(tmp_path).set(name, value)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    store_in(tmp_path / "credentials").set("tickets", "sw0rdfish-7")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "credentials").iterdir()}
    assert modes == {"credentials.json": 0o600, "credentials.json.turn": 0o600, "key": 0o600}
    assert stat.S_IMODE((tmp_path / "credentials").stat().st_mode) == 0o700


def test_no_file_holds_a_value(folder: Path) -> None:
    assert [name for name, body in contents(folder).items() for value in KEPT.values() if value.encode() in body] == []


@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_key_is_told_with_what_to_do_and_changes_nothing(folder: Path, change: Callable[[CredentialStore], object]):
    before = contents(folder)

    with pytest.raises(CredentialUnreadable, match=r"does not open .*restore the key.*nothing was changed") as failed:
        change(store_in(folder, GivenKey(new_key())))

    assert isinstance(failed.value, BackendError)
    assert contents(folder) == before
    assert revealed(store_in(folder)) == KEPT


@pytest.mark.parametrize("change", CHANGES)
def test_a_key_that_is_gone_is_not_replaced_by_a_new_one(folder: Path, change: Callable[[CredentialStore], object]) -> None:
    kept = (folder / "key").read_bytes()
    (folder / "key").unlink()
    before = contents(folder)

    with pytest.raises(CredentialUnreadable, match="restore it"):
        change(store_in(folder))

    assert contents(folder) == before
    (folder / "key").write_bytes(kept)
    assert revealed(store_in(folder)) == KEPT


def test_names_are_told_without_a_key(folder: Path) -> None:
    (folder / "key").unlink()
    assert store_in(folder).names() == ("redis", "tickets")


def test_wherever_a_file_was_cut_off_it_is_told_and_nothing_is_changed(folder: Path) -> None:
    body = file_of(folder).read_bytes()
    whole = len(body.rstrip())
    # Everywhere at its ends, and in every third place between them.
    for length in (*range(10), *range(10, whole - 10, 3), *range(whole - 10, whole - 1)):
        file_of(folder).write_bytes(body[:length])
        for change in CHANGES:
            with pytest.raises(CredentialUnreadable, match=r"damaged: restore a copy"):
                change(store_in(folder))
        assert file_of(folder).read_bytes() == body[:length]


def flips(body: bytes) -> Iterator[bytes]:
    for at in range(0, len(body), 2):
        yield body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


def test_wherever_a_bit_flips_nothing_false_is_given_out(folder: Path) -> None:
    body = file_of(folder).read_bytes()
    harmless = 0
    for flipped in flips(body):
        file_of(folder).write_bytes(flipped)
        try:
            found = store_in(folder).get("tickets")
        except CredentialUnreadable:
            continue
        harmless += 1
        # None: its name is another one now, and under that it can't be had.
        assert found is None or found.reveal() == KEPT["tickets"]
    # What hit the other one and its check.
    assert len(body) * 0.15 < harmless < len(body) * 0.4


def test_a_damaged_one_is_kept_until_it_is_set_anew_and_the_others_go_on(folder: Path) -> None:
    book = json.loads(file_of(folder).read_bytes())
    book["tokens"]["tickets"] = damaged = book["tokens"]["tickets"][:-6] + "AAAAA="
    file_of(folder).write_text(json.dumps(book))
    store = store_in(folder)

    for look in (lambda: store.get("tickets"), store.rotate):
        with pytest.raises(CredentialUnreadable, match=r"tickets .*set it anew \(hive-mind credentials set tickets\)"):
            look()
    store.set("third", "sw0rdfish-9")
    assert json.loads(file_of(folder).read_bytes())["tokens"]["tickets"] == damaged
    store.set("tickets", "sw0rdfish-8")
    assert revealed(store_in(folder)) == {"redis": "another-1", "third": "sw0rdfish-9", "tickets": "sw0rdfish-8"}


def test_a_token_in_the_place_of_another_is_not_taken_for_it(folder: Path) -> None:
    book = json.loads(file_of(folder).read_bytes())
    book["tokens"]["tickets"] = book["tokens"]["redis"]
    file_of(folder).write_text(json.dumps(book))
    with pytest.raises(CredentialUnreadable, match="tickets"):
        store_in(folder).get("tickets")


def test_a_file_of_a_newer_version_is_left_alone(folder: Path) -> None:
    file_of(folder).write_text(file_of(folder).read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(CredentialUnreadable, match="another version"):
        store_in(folder).names()


def test_after_rotating_the_former_key_opens_nothing(folder: Path) -> None:
    former = GivenKey((folder / "key").read_text())
    assert store_in(folder).rotate() == 2

    assert revealed(store_in(folder)) == KEPT
    assert len((folder / "key").read_text().split()) == 1
    with pytest.raises(CredentialUnreadable):
        store_in(folder, former).get("tickets")


class Cut(Exception):
    """The power."""


@pytest.mark.parametrize("writes", range(4))
def test_rotating_may_end_after_any_of_its_writes(folder: Path, writes: int) -> None:
    left = writes

    def write(path: Path, body: bytes) -> None:
        nonlocal left
        if left == 0:
            raise Cut
        left -= 1
        write_whole(path, body)

    store = backends.load("credentials", "fernet").open(file_of(folder), FileKey(folder / "key", write), write)
    if writes < 3:
        with pytest.raises(Cut):
            store.rotate()
    else:
        assert store.rotate() == 2

    assert revealed(store_in(folder)) == KEPT
    assert store_in(folder).rotate() == 2
    assert revealed(store_in(folder)) == KEPT
    assert len((folder / "key").read_text().split()) == 1


def test_a_given_key_is_changed_by_putting_a_new_one_in_front(tmp_path: Path) -> None:
    old, new = new_key(), new_key()
    store_in(tmp_path, GivenKey(old)).set("tickets", "sw0rdfish-7")

    with pytest.raises(InvalidInput, match=r"put a new key \(openssl rand -base64 32\) in front"):
        store_in(tmp_path, GivenKey(old)).rotate()
    assert store_in(tmp_path, GivenKey(f"{new} {old}")).rotate() == 1

    assert revealed(store_in(tmp_path, GivenKey(new))) == {"tickets": "sw0rdfish-7"}
    with pytest.raises(CredentialUnreadable):
        store_in(tmp_path, GivenKey(old)).get("tickets")


def test_a_missing_package_is_told_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography.fernet", None)
    monkeypatch.delitem(__import__("sys").modules, "hive_mind.credentials.fernet", raising=False)
    with pytest.raises(BackendNotInstalled, match=r"install .*\[credentials\]"):
        backends.load("credentials", "fernet")


@pytest.mark.parametrize("change", [*CHANGES, lambda store: store.names()])
@pytest.mark.parametrize("part", ["credentials.json", ""])
def test_what_a_disk_refuses_is_told_by_place(tmp_path: Path, part: str, change: Callable[[CredentialStore], object]) -> None:
    folder = tmp_path / "credentials"
    if part:
        (folder / part).mkdir(parents=True)
    else:
        folder.write_text("no folder")

    with pytest.raises(BackendError, match=r"credentials: .*credentials.*check its permissions"):
        change(store_in(folder))


def test_a_full_disk_keeps_what_there_was(folder: Path) -> None:
    def write(path: Path, body: bytes) -> None:
        del body
        raise OSError(ENOSPC, "No space left on device", str(path))

    store = backends.load("credentials", "fernet").open(file_of(folder), FileKey(folder / "key", write), write)
    for change in CHANGES[1:]:
        with pytest.raises(BackendError, match="No space left on device; make room"):
            change(store)

    assert revealed(store_in(folder)) == KEPT
