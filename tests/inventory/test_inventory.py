"""What others rely on appears and vanishes only with its line: `make inventory` writes the file anew."""

from pathlib import Path

from tests.inventory.inventory import FILE, KINDS, UPDATE, changes, inventory


def test_nothing_that_others_rely_on_appears_or_vanishes_without_its_line() -> None:
    changed = changes(inventory())
    assert not changed, f"what is + appeared, what is - vanished; `{UPDATE}` if that is meant:\n" + "\n".join(changed)


def test_it_has_something_of_each_kind_and_nothing_of_this_machine() -> None:
    lines = FILE.read_text("utf-8").splitlines()
    assert {line.split()[0] for line in lines} == set(KINDS)
    assert lines == sorted(set(lines))
    assert [line for line in lines if str(Path.home()) in line or " at 0x" in line] == []
