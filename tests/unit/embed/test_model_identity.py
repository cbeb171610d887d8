"""What a database remembers a model by."""

from pathlib import Path

import pytest

from hive_mind.embed._model_files import identity_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mini"
    (made / "pooling").mkdir(parents=True)
    (made / "config.json").write_text('{"layers": 6}')
    (made / "pooling" / "weights.bin").write_bytes(b"12345678")
    return made


def test_a_name_on_the_hub_is_its_own_identity() -> None:
    assert identity_of("BAAI/bge-base-en-v1.5") == "BAAI/bge-base-en-v1.5"


def test_a_folder_stays_the_same_model_when_it_is_linked_or_moved(folder: Path) -> None:
    before = identity_of(str(folder))
    link = folder.parent / "link"
    link.symlink_to(folder)
    linked = identity_of(str(link))
    (folder.parent / "elsewhere").mkdir()
    folder.rename(folder.parent / "elsewhere" / "mini")

    assert before.startswith("mini#")
    assert linked == identity_of(str(folder.parent / "elsewhere" / "mini")) == before


@pytest.mark.parametrize("change", ["configuration", "weights", "one more file"])
def test_another_model_in_the_same_folder_is_another_model(folder: Path, change: str) -> None:
    before = identity_of(str(folder))
    match change:
        case "configuration":
            (folder / "config.json").write_text('{"layers": 9}')
        case "weights":
            (folder / "pooling" / "weights.bin").write_bytes(b"123456789")
        case _:
            (folder / "more.txt").write_text("more")

    assert identity_of(str(folder)) != before
