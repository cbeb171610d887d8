"""`adapt.md` with several writers at once: nothing that one of them wrote is gone without a word."""

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hive_mind.agents.runs.run_tools import AgentMemory, RunFiles
from hive_mind.errors import InvalidInput
from hive_mind.runs.prompt import ADAPT, ADAPT_CHARACTERS_MAX
from hive_mind.safe_files import PART
from tests.servers.forked import Forked

WRITES = 20
PROCESS = """
import sys
from pathlib import Path
from hive_mind.agents.runs.run_tools import RunFiles
folder, name, writes = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
files = RunFiles(folder / name, folder / "adapt.md", "I keep gates.")
for number in range(writes):
    files.remember_outputs({f"{name}{number}": number})
"""


def files(tmp_path: Path, run: str = "run") -> RunFiles:
    return RunFiles(tmp_path / run, tmp_path / "adapt.md", "I keep gates.")


def outputs(tmp_path: Path) -> set[str]:
    return set(re.findall(r"^- (\w+): ", (tmp_path / "adapt.md").read_text("utf-8"), re.MULTILINE))


def test_runs_in_several_processes_lose_none_of_each_others_outputs(tmp_path: Path) -> None:
    names = ("ada", "ben", "cleo")
    command = [sys.executable, "-c", PROCESS, str(tmp_path)]
    assert [one.wait(120) for one in [Forked([*command, name, str(WRITES)]) for name in names]] == [0, 0, 0]
    assert outputs(tmp_path) >= {f"{name}{number}" for name in names for number in range(WRITES)}


def test_runs_in_several_threads_lose_none_of_each_others_outputs(tmp_path: Path) -> None:
    def write(name: str) -> None:
        one = files(tmp_path, name)
        for number in range(WRITES):
            one.remember_outputs({f"{name}{number}": number})

    threads = [threading.Thread(target=write, args=(name,)) for name in ("ada", "ben")]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
    assert outputs(tmp_path) >= {f"{name}{number}" for name in ("ada", "ben") for number in range(WRITES)}


def test_what_a_person_saves_while_an_agent_writes_stays(tmp_path: Path) -> None:
    one = files(tmp_path)
    one.adapt()
    path = tmp_path / "adapt.md"
    tries = []

    def changed(now: str) -> str:
        if not tries:
            # The person's editor saves between the agent's reading and its writing.
            path.write_text(now.replace("## Rules\n", "## Rules\n- be brief\n"), "utf-8")
        tries.append(now)
        return now.replace("\n## Outputs\n", "- mine\n\n## Outputs\n")

    one.change("adapt.md", changed)
    assert len(tries) == 2
    assert "- be brief\n" in path.read_text("utf-8")
    assert "- mine\n" in path.read_text("utf-8")
    assert [name.name for name in tmp_path.glob(".adapt*")] == [".adapt.md.turn"]


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda folder: (folder / "adapt.md").write_text("## Rules\n- be brief\n", "utf-8"),
        lambda folder: files(folder, "other").remember_outputs({"theirs": 1}),
    ],
    ids=["a person", "another run"],
)
def test_an_agent_that_has_not_seen_what_others_wrote_keeps_it(meanwhile: Callable[[Path], object], tmp_path: Path) -> None:
    one = files(tmp_path)
    one.adapt()
    meanwhile(tmp_path)
    now = (tmp_path / "adapt.md").read_text("utf-8")
    with pytest.raises(InvalidInput, match=r"have not seen all of adapt\.md as it is now: look at it with load_data"):
        one.write("adapt.md", "## Mine\n")
    assert (tmp_path / "adapt.md").read_text("utf-8") == now
    one.adapt()
    one.write("adapt.md", "## Mine\n")
    assert one.adapt() == "## Mine\n"


def test_an_agent_that_was_shown_a_part_replaces_not_the_whole(tmp_path: Path) -> None:
    text = "x" * (ADAPT_CHARACTERS_MAX + 1)
    (tmp_path / "adapt.md").write_text(text)
    one = files(tmp_path)
    one.adapt()
    with pytest.raises(InvalidInput, match="not seen all of"):
        one.write("adapt.md", "short")
    assert (tmp_path / "adapt.md").read_text() == text


def test_an_agent_may_go_on_from_what_it_wrote_itself(tmp_path: Path) -> None:
    one = files(tmp_path)
    one.adapt()
    one.remember_outputs({"x": 1})
    one.write("adapt.md", "## Mine\n")
    assert one.adapt() == "## Mine\n"


def test_what_a_killed_process_had_half_written_is_removed_and_the_file_of_an_editor_is_not(tmp_path: Path) -> None:
    half, swap = tmp_path / f".{ADAPT}.k2x9{PART}", tmp_path / f".{ADAPT}.swp"
    for one in (half, swap):
        one.write_text("## Out")

    AgentMemory(tmp_path / ADAPT, "").change(lambda _: "## Rules\n")

    assert (half.exists(), swap.exists()) == (False, True)
    assert (tmp_path / ADAPT).read_text() == "## Rules\n"

    half.write_text("## Out")
    RunFiles(tmp_path, tmp_path / ADAPT, "").remove_halves()
    assert (half.exists(), swap.exists()) == (False, True)
