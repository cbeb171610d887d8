"""Files that still quote what was erased: texts anywhere, a name word for word."""

import random
import re
from pathlib import Path

import pytest

from hive_mind.runtime import copies
from hive_mind.runtime.copies import has_residue, needles


@pytest.mark.parametrize(
    ("content", "is_named"),
    [
        ("Anna plans the annual channel, as Joann does", False),
        ("ann2, 2ann", False),
        ("met ANN.", True),
        ("Ann", True),
        ("Anna met Ann", True),
        ("x\x00ann\x00", True),
        ("", False),
    ],
)
def test_a_name_is_found_word_for_word_as_erasing_takes_it(tmp_path: Path, content: str, is_named: bool) -> None:
    (tmp_path / "file").write_text(content)
    assert has_residue(tmp_path / "file", needles((), ["Ann"])) is is_named
    assert has_residue(tmp_path / "file", needles(["Ann"])) is ("ann" in content.lower())
    assert not has_residue(tmp_path / "file", needles([], [""]))


def test_wherever_a_file_is_cut_it_is_found_as_in_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    for _ in range(400):
        content = "".join(draw.choice("an .") for _ in range(draw.randrange(12)))
        name, text = ("".join(draw.choice("an") for _ in range(draw.randrange(1, 4))) for _ in range(2))
        (tmp_path / "file").write_text(content)
        monkeypatch.setattr(copies, "_BLOCK_BYTES", draw.randrange(1, 9))

        found = has_residue(tmp_path / "file", needles([text], [name]))

        assert found is (text in content or re.search(rf"\b{name}\b", content) is not None), (content, name, text)
