"""`hive-mind learn --watch` in processes that are killed: what the folder says is what is known."""

import random
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.chance import seed_of_this_run

KILLS = 3
LINES = [f"The {name} opens at {hour} on working days." for name in "mill dam weir lock quay".split() for hour in range(6, 10)]


@pytest.fixture
def home(guarded: HiveMind) -> Iterator[HiveMind]:
    """One whose resident process is ended."""
    yield guarded
    assert guarded("serve", "--stop").code == 0


def started(hive_mind: HiveMind, folder: Path) -> subprocess.Popen[bytes]:
    return hive_mind.start("learn", folder, "--watch", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def until_it_says(process: subprocess.Popen[bytes], words: bytes) -> list[bytes]:
    """Its lines up to one with these words; its end where it ends before."""
    said: list[bytes] = []
    giving_up = threading.Timer(120, process.kill)
    giving_up.start()
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line)
        if words in line:
            break
    giving_up.cancel()
    return said


def change(folder: Path, chance: random.Random) -> None:
    path = folder / f"{chance.choice('abcd')}.md"
    if path.exists() and chance.random() < 0.4:
        path.unlink() if chance.random() < 0.5 else path.rename(folder / f"{chance.choice('abcd')}.md")
    else:
        path.write_text("\n\n".join(chance.sample(LINES, chance.randrange(1, 5))))


def known(hive_mind: HiveMind, *options: object) -> dict[str, list[str]]:
    facts = hive_mind("facts", "list", "--limit", "1000", "--output", "json", *options).json
    return {fact["content"]: sorted(fact["sources"]) for fact in facts}


@pytest.mark.slow
def test_after_kills_at_any_moment_what_the_folder_says_is_known(home: HiveMind, tmp_path: Path) -> None:
    chance, folder = random.Random(seed := seed_of_this_run()), tmp_path / "folder"
    folder.mkdir()
    for _ in range(KILLS):
        process = started(home, folder)
        # Killed in the middle of what it does after a change, wherever that is then.
        until_it_says(process, chance.choice((b"watching", b"up to date")))
        for _ in range(chance.randrange(1, 4)):
            change(folder, chance)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 3))
        process.kill()
        process.communicate()
        change(folder, chance)

    process = started(home, folder)
    said = until_it_says(process, b"up to date")
    process.send_signal(signal.SIGTERM)
    _, last = process.communicate(timeout=60)

    assert (process.returncode, b"stopped watching" in last) == (143, True), (seed, said, last)
    home("serve", "--stop")
    fresh = HiveMind(tmp_path / "fresh")
    fresh("learn", folder)
    assert known(home) == known(fresh), seed
