"""Folders for copies of memories, among the system's temporary ones: none outlives its process for long, whatever ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hive_mind.safe_files import PassingFolder, remove_passed
from tests.servers.children import Child

MAKER = """
import sys
from hive_mind.safe_files import PassingFolder
with PassingFolder() as folder:
    (folder.path / "copy").write_text("The ferry leaves at nine.")
    print(folder.path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def made_elsewhere(temporary: Path) -> tuple[subprocess.Popen[bytes], Path]:
    environment = os.environ | {"TMPDIR": str(temporary)}
    process = Child([sys.executable, "-c", MAKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().decode().strip())


def test_what_a_killed_process_left_goes_when_the_next_folder_is_made_and_that_of_a_living_one_stays(temporary: Path) -> None:
    killed, left = made_elsewhere(temporary)
    living, used = made_elsewhere(temporary)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (left / "copy").exists()

    with PassingFolder() as folder, PassingFolder() as beside:
        assert sorted(temporary.iterdir()) == sorted([used, folder.path, beside.path])
        assert folder.path.stat().st_mode & 0o077 == 0

    assert list(temporary.iterdir()) == [used]
    living.communicate(b"")
    assert list(temporary.iterdir()) == []


def test_a_link_of_that_name_leads_to_nothing_that_is_removed(temporary: Path) -> None:
    (temporary / "kept").mkdir()
    (temporary / "kept" / "file").write_text("x")
    (temporary / "hive-mind-passing-x").symlink_to("kept")

    remove_passed()

    assert (temporary / "kept" / "file").exists()
