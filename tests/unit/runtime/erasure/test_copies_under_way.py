"""A copy that is being written while something is erased may have it: the receipt owes it until it was looked at."""

from errno import ENOSPC
from pathlib import Path
from typing import get_args

import pytest

from hive_mind.model.erasure import Erasure, erasure_of
from hive_mind.runtime.copies import Kind, note_copy
from hive_mind.runtime.erasing import Erased, erase_from_copies
from hive_mind.safe_files import replacing

ADA = [erasure_of("subject", "Ada Lovelace")]


async def owed_of(home: Path, *, is_dry: bool) -> list[str]:
    erased = Erased(names={"Ada Lovelace"})
    await erase_from_copies(home, ADA, erased, is_dry=is_dry)
    return [debt.who for debt in erased.owed]


@pytest.mark.parametrize("is_dry", [True, False])
@pytest.mark.parametrize("kind", get_args(Kind))
async def test_a_copy_under_way_is_owed_until_it_is_there_or_given_up(tmp_path: Path, kind: Kind, is_dry: bool) -> None:
    copy, another = tmp_path / "copy", tmp_path / "another"
    for path in (copy, copy, another):
        note_copy(tmp_path, path, kind, "ada")

    with pytest.raises(OSError, match="full"):
        await while_written(copy, tmp_path, is_dry=is_dry)

    assert await owed_of(tmp_path, is_dry=is_dry) == []


async def while_written(copy: Path, home: Path, *, is_dry: bool) -> None:
    with replacing(copy) as unfinished:
        unfinished.write_bytes(b"Ada Lovelace lives at 12 Elm Street.")
        assert await owed_of(home, is_dry=is_dry) == [str(copy)]
        raise OSError(ENOSPC, "full")


ID = "a" * 32
LINE = f'{{"type":"fact","id":"{ID}","content":"Ada Lovelace lives there.","sources":["notes.md"]}}\n'
OTHER = f'{{"type":"fact","id":"{"b" * 32}","content":"Eve lives there.","sources":["a.md"]}}\n'


@pytest.mark.parametrize(
    "erasure",
    [erasure_of("source", "notes.md"), erasure_of("fact", ID), *ADA, erasure_of("agent", "ada")],
    ids=["source", "fact", "subject", "agent"],
)
async def test_an_export_is_owed_though_the_memory_let_go_of_it_before(tmp_path: Path, erasure: Erasure) -> None:
    """Somebody was killed between the two, or erases again because an export was owed."""
    for name, text, of in (("has it", f"no line\n{OTHER}{LINE}", "ada"), ("has it not", OTHER, "eve")):
        (tmp_path / name).write_text(text)
        note_copy(tmp_path, tmp_path / name, "facts", of)
    erased = Erased()
    await erase_from_copies(tmp_path, [erasure], erased, is_dry=False)
    assert [debt.who for debt in erased.owed] == [str(tmp_path / "has it")]


def test_a_copy_that_is_made_every_night_under_one_name_is_noted_once(tmp_path: Path) -> None:
    for _ in range(3):
        note_copy(tmp_path, tmp_path / "town.zip", "archive", "town")

    assert (tmp_path / "copies.jsonl").read_text().count("\n") == 1
