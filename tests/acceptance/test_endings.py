"""Told to end by a signal, a command finishes its write, says how far it came, and goes on from there the next time."""

import json
import re
import signal
from pathlib import Path

import pytest

from benchmarks.importing import lines, measured
from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.terminal import watched
from tests.sampled import thorough

ENDINGS = [(signal.SIGTERM, 143), *(thorough(*ending) for ending in [(signal.SIGINT, 130), (signal.SIGHUP, 129)])]
# So much that it can't be finished before the signal comes, on the fastest machine.
BUOYS, FACTS = 1_500, 8_000
IMPORTING = rb"importing[^/]*[ m]([1-9]\d*)/"


@pytest.fixture
def buoys(tmp_path: Path) -> Path:
    """One long file, each line of which is a fact."""
    file = tmp_path / "buoys.txt"
    file.write_text("".join(f"Buoy {n} was painted by crew {n % 7} last winter.\n" for n in range(BUOYS)))
    return file


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A large memory, exported. Not to be changed."""
    return written(tmp_path_factory.mktemp("memory") / "memory.jsonl", FACTS)


def written(file: Path, facts: int) -> Path:
    file.write_text("".join(f"{line}\n" for line in lines(facts, seed=1)))
    return file


def facts_of(hive_mind: HiveMind, *agent: str) -> int:
    return sum('"type":"fact"' in line for line in hive_mind("facts", "export", *agent).out.splitlines())


@pytest.mark.parametrize(("number", "code"), ENDINGS)
def test_learning_a_long_file_is_stopped_and_goes_on(hive_mind: HiveMind, buoys: Path, number: signal.Signals, code: int):
    with watched(hive_mind, "learn", buoys) as learning:
        learning.until(rb"buoys\S* +([1-9]\d?) %")
        learning.process.send_signal(number)
        assert learning.ended() == code
    told = learning.until(rb"stopped; 0 of 1 file and (\d+) % of buoys.txt learned, nothing lost: run it again to go on")

    kept = facts_of(hive_mind)
    assert 0 < BUOYS * int(told[1]) // 100 <= kept < BUOYS

    again = hive_mind("learn", buoys, "--output", "json")
    assert (again.code, again.json["added"]) == (0, BUOYS - kept)
    assert facts_of(hive_mind) == BUOYS


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        # A terminal that closes sends SIGHUP twice; a stop of systemd may send SIGTERM and SIGHUP.
        # Of several that wait, the system hands over the one with the lowest number first.
        ((signal.SIGHUP, signal.SIGHUP, signal.SIGTERM), (129, 143)),
        *(thorough((number,), (code,)) for number, code in [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]),
    ],
)
def test_a_stopped_import_goes_on_after_the_lines_it_tells_and_a_second_signal_cuts_nothing_short(
    hive_mind: HiveMind, memory: Path, numbers: tuple[signal.Signals, ...], codes: tuple[int, ...]
):
    with watched(hive_mind, "facts", "import", memory) as importing:
        importing.until(IMPORTING)
        for number in numbers:
            importing.process.send_signal(number)
        assert importing.ended() in codes
    told = importing.until(rb"stopped; ([\d,]+) of [\d,]+ lines are kept: import the same again to go on")

    went_on(hive_mind, memory, after=int(told[1].replace(b",", b"")))


def test_an_import_that_was_killed_goes_on_where_it_was(hive_mind: HiveMind, memory: Path):
    with watched(hive_mind, "facts", "import", memory) as importing:
        seen = int(importing.until(IMPORTING)[1])
        importing.process.kill()
        assert importing.ended() == -signal.SIGKILL

    went_on(hive_mind, memory, at_least=seen)
    assert hive_mind("facts", "export").out == memory.read_text()
    assert hive_mind("facts", "import", memory, "--output", "json").json["added"] == 0


def went_on(hive_mind: HiveMind, memory: Path, *, after: int | None = None, at_least: int = 0) -> None:
    """The rest is taken in, and then nothing is missing or doubled."""
    before = facts_of(hive_mind)
    again = hive_mind("facts", "import", memory, "--output", "json")

    assert again.code == 0
    assert again.json["skipped_lines"] == after if after is not None else again.json["skipped_lines"] >= at_least
    assert (again.json["facts"], again.json["added"]) == (FACTS, FACTS - before)


def test_a_second_ctrl_c_loses_nothing_that_was_shown_as_kept(hive_mind: HiveMind, memory: Path):
    with watched(hive_mind, "facts", "import", memory) as importing:
        importing.until(IMPORTING)
        importing.process.send_signal(signal.SIGINT)
        importing.process.send_signal(signal.SIGINT)
        assert importing.ended() == 130

    went_on(hive_mind, memory, at_least=max(int(number) for number in re.findall(IMPORTING, importing.said)))


def test_what_nohup_or_a_shell_started_in_the_background_outlives_their_signals_and_heeds_sigterm(
    hive_mind: HiveMind, memory: Path
):
    with watched(hive_mind, "facts", "import", memory, ignoring="HUP INT") as importing:
        importing.until(IMPORTING)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            importing.process.send_signal(number)
        # Had it heeded another, that would be the one: of several the lowest number is handed over first.
        assert importing.ended() == 143
    importing.until(rb"stopped; [\d,]+ of [\d,]+ lines are kept")


def test_nothing_is_imported_of_a_file_with_a_bad_line_at_its_end(hive_mind: HiveMind, memory: Path, tmp_path: Path):
    bad = json.dumps({"type": "link", "relation": "SUPERSEDES", "from_id": "0" * 32, "to_id": "1" * 32})
    (tmp_path / "bad.jsonl").write_text(f"{memory.read_text()}{bad}\n")
    refused = hive_mind("facts", "import", tmp_path / "bad.jsonl")
    assert (refused.code, facts_of(hive_mind)) == (1, 0)
    assert f"{'0' * 32} is named and not held by any line" in refused.err


def test_eight_times_as_many_facts_come_in_and_go_out_in_little_more_memory(tmp_path: Path):
    few, many = (written(tmp_path / f"{facts}.jsonl", facts) for facts in (3_000, 24_000))

    def peaks_mb(file: Path) -> list[float]:
        calls = (["import", str(file)], ["export", str(file.with_suffix(".out"))])
        return [measured(tmp_path / file.stem, "sqlite", *call)["peak_mb"] for call in calls]

    # Held in RAM, the facts alone would be 18 MB more, and their lines 9.
    assert all(more - less <= 12 for more, less in zip(peaks_mb(many), peaks_mb(few), strict=True))
