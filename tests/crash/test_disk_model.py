"""The model of a disk: what is synced stays, of the rest any part may, and nothing that never was."""

from collections.abc import Iterable
from random import Random

from tests.crash.disk_model import SECTOR, Disk, Image
from tests.crash.disk_trace import Change

ROOT, FILE, FOLDER = 1, 2, 3
_SEEDS = range(300)


def disk_after(*changes: Change) -> Disk:
    disk = Disk()
    for change in (Change("D", ROOT, 0, "", b""), *changes):
        disk.follow(change)
    return disk


def left(disk: Disk) -> list[Image]:
    return [disk.after_power_failure(Random(seed)) for seed in _SEEDS]


def contents(images: Iterable[Image], name: str) -> set[bytes | None]:
    return {image.get(name) for image in images}


def create(name: str, inode: int = FILE) -> Change:
    return Change("C", inode, 0, name, b"")


def write(data: bytes, offset: int = 0) -> Change:
    return Change("W", FILE, offset, "", data)


def sync(inode: int = FILE) -> Change:
    return Change("S", inode, 0, "", b"")


OLD, NEW = b"o" * SECTOR, b"n" * SECTOR


def test_what_was_synced_is_always_there() -> None:
    assert left(disk_after(create("a"), write(OLD * 3), sync(), sync(ROOT))) == [{"a": OLD * 3}] * len(_SEEDS)


def test_a_file_s_sync_keeps_no_name() -> None:
    assert contents(left(disk_after(create("a"), write(OLD), sync())), "a") == {None, OLD}


def test_of_a_write_any_sectors_may_be_there() -> None:
    images = left(disk_after(create("a"), write(OLD * 3), sync(), sync(ROOT), write(NEW * 3)))
    assert contents(images, "a") == {one + two + three for one in (OLD, NEW) for two in (OLD, NEW) for three in (OLD, NEW)}


def test_a_later_write_may_arrive_before_an_earlier_one() -> None:
    images = left(disk_after(create("a"), write(OLD * 2), sync(), sync(ROOT), write(NEW), write(NEW, SECTOR)))
    assert OLD + NEW in contents(images, "a")


def test_bytes_beside_a_write_in_its_sector_are_never_harmed() -> None:
    images = left(disk_after(create("a"), write(OLD), sync(), sync(ROOT), write(b"n", 7)))
    assert contents(images, "a") == {OLD, OLD[:7] + b"n" + OLD[8:]}


def test_a_longer_file_may_have_its_length_and_not_its_bytes() -> None:
    images = left(disk_after(create("a"), write(OLD), sync(), sync(ROOT), write(NEW, SECTOR)))
    found = contents(images, "a")
    assert {OLD, OLD + NEW, OLD + bytes(SECTOR)} <= found
    assert all(content and content.startswith(OLD) and len(content) in (SECTOR, 2 * SECTOR) for content in found)


def test_a_file_is_cut_whole_or_not_at_all_and_what_comes_behind_needs_the_cut() -> None:
    images = left(disk_after(create("a"), write(OLD * 2), sync(), sync(ROOT), Change("T", FILE, 0, "", b""), write(NEW)))
    found = contents(images, "a")
    assert {OLD * 2, b"", NEW, bytes(SECTOR)} <= found
    assert not any(content and OLD in content and content != OLD * 2 for content in found)


def test_a_file_that_is_renamed_has_the_old_name_or_the_new_one() -> None:
    names = (create("a"), write(OLD), sync(), sync(ROOT), Change("R", 0, 0, "a\nb", b""))
    assert {tuple(image) for image in left(disk_after(*names))} == {("a",), ("b",)}
    assert {tuple(image) for image in left(disk_after(*names, sync(ROOT)))} == {("b",)}


def test_with_a_folder_that_was_not_synced_all_in_it_is_lost() -> None:
    made = (Change("D", FOLDER, 0, "d", b""), create("d/a"), write(OLD), sync(), sync(FOLDER))
    assert {tuple(image) for image in left(disk_after(*made))} == {(), ("d", "d/a")}
    assert {tuple(image) for image in left(disk_after(*made, sync(ROOT)))} == {("d", "d/a")}


def test_a_disk_that_forgets_syncs_keeps_nothing_for_sure() -> None:
    disk = Disk(forgets=frozenset({"file"}))
    for change in (Change("D", ROOT, 0, "", b""), create("a"), write(OLD), sync(), sync(ROOT)):
        disk.follow(change)
    assert {OLD, b""} <= contents(left(disk), "a")
