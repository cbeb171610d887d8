"""A line that is added to a file is there afterwards, whatever half of one a full disk or a power failure left before it."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hive_mind.console.visit import Decisions
from hive_mind.retrieval.deployment import Deployment, add_entry, read_history
from hive_mind.runtime.copies import note_copy, noted
from hive_mind.safe_files import append_line
from tests.servers.quota import files_of_at_most

Add = Callable[[Path, str], Awaitable[None]]
Read = Callable[[Path], Awaitable[list[str]]]


async def add_copy(file: Path, name: str) -> None:
    note_copy(file.parent, Path(f"/{name}"), "backup", "ada")


async def copies(file: Path) -> list[str]:
    return [Path(copied.path).name for copied in noted(file.parent)]


async def add_decision(file: Path, name: str) -> None:
    await Decisions(file).note("session", "ada", "accept", name, "", "done")


async def decisions(file: Path) -> list[str]:
    return [line.about for line in reversed(await Decisions(file).last(100))]


async def add_deployment(file: Path, name: str) -> None:
    add_entry(file, Deployment("2026-01-01", "deploy", name, "ada", "", {}))


async def deployments(file: Path) -> list[str]:
    return [entry.config for entry in read_history(file)]


ROOMS = pytest.mark.parametrize(
    ("name", "add", "names_in"),
    [
        ("copies.jsonl", add_copy, copies),
        ("decisions.jsonl", add_decision, decisions),
        ("history.jsonl", add_deployment, deployments),
    ],
    ids=["copies", "decisions", "deployments"],
)


@ROOMS
async def test_a_line_behind_half_of_one_is_read(tmp_path: Path, name: str, add: Add, names_in: Read) -> None:
    file = tmp_path / name
    await add(file, "first")
    await add(file, "cut")
    whole = file.read_bytes()
    behind_first = whole.index(b"\n") + 1
    for end in range(behind_first, len(whole)):
        file.write_bytes(whole[:end])
        await add(file, "after")
        # The last byte is a line feed alone.
        assert [each for each in await names_in(file) if each != "cut"] == ["first", "after"], end


def test_a_line_for_which_there_is_no_room_is_refused_by_the_name_of_its_file_and_hides_no_other(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    append_line(file, b"first")
    with files_of_at_most(10), pytest.raises(OSError, match="too large") as refused:
        append_line(file, b"there is room for half of this")
    append_line(file, b"after")

    assert refused.value.filename == str(file)
    assert file.read_bytes().splitlines() == [b"first", b"ther", b"after"]
