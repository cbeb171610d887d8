"""Wording that readers from outside stumble over: kept out of the folders and pages that are free of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def listed(what: str) -> list[str]:
    """Patterns or names that CONTRIBUTING.md lists between two marks, each in back-ticks."""
    return re.findall(r"`([^`]+)`", CONTRIBUTING.split(f"<!-- {what} -->")[1].split(f"<!-- /{what} -->")[0])


BANNED = re.compile("|".join(listed("banned words")))
CLEAN = listed("clean folders")


def test_no_banned_wording_in_folders_that_are_clean():
    lines = [(path, line) for name in CLEAN for path in files_of(ROOT / name) for line in texts_of(path)]
    assert len(lines) > 10_000
    assert [f"{path.relative_to(ROOT)}: {line.strip()}" for path, line in lines if BANNED.search(line)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Whoever asks.",
        "It waits so many seconds.",
        "for a line that is none",
        "known to who asks",
        "{len(found)} facts",
        '"""What it has.',
        "    # Who waits.",
    ],
)
def test_banned_wording_is_seen(text):
    assert BANNED.search(text)


def files_of(place: Path) -> list[Path]:
    """A page, or the modules and pages of a folder. Markdown in the package is data: prompts and example documents."""
    kinds = (".py", ".md") if ROOT / "docs" in (place, *place.parents) else (".py",)
    return sorted(path for path in place.rglob("*") if path.suffix in kinds) if place.is_dir() else [place]


def texts_of(path: Path) -> list[str]:
    """The lines of a file; of lists of words that are looked for in facts none."""
    return [] if path.name in {"instructions.py", "promotion.py"} else path.read_text("utf-8").splitlines()
