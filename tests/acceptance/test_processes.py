"""The command in a process of its own: module, pipes, Ctrl-C, two at once."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_memory

LIMIT_S = 60


def test_the_package_runs_as_a_module_and_json_is_all_that_is_on_stdout(hive_mind, notes):
    hive_mind("learn", notes)

    out, err = hive_mind.start("ask", "When does the ferry leave?", "-o", "json", stdout=PIPE, stderr=PIPE).communicate(
        timeout=LIMIT_S
    )

    assert json.loads(out)["is_known"]
    assert err == b""


def test_a_reader_who_goes_away_is_no_error_worth_a_word(hive_mind, tmp_path):
    # More than a pipe holds, so that somebody has to notice.
    (tmp_path / "buoys.txt").write_text("".join(f"Buoy {n} was painted by crew {n % 7} last winter.\n" for n in range(3000)))
    hive_mind("learn", tmp_path / "buoys.txt")

    for arguments in (["facts", "export"], ["facts", "list", "-n", "1000"], ["--help"], ["facts", "--help"], ["ask", "--help"]):
        process = hive_mind.start(*arguments, stdout=PIPE, stderr=PIPE)
        process.stdout.close()
        _, err = process.communicate(timeout=LIMIT_S) if process.stdout is None else (b"", process.stderr.read())
        process.stderr.close()

        assert err == b""
        assert process.wait(LIMIT_S) == 141


def test_started_with_closed_streams_it_works_and_writes_into_no_file_by_mistake(hive_mind, notes):
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-m", "hive_mind", "learn", str(notes)]
    ended = subprocess.run(command, env=os.environ | hive_mind.environment, timeout=LIMIT_S, check=False)
    # Nobody was told what was learned.
    assert ended.returncode == 1
    assert hive_mind("facts", "list", "-o", "json").json


def test_ctrl_c_is_130_with_one_line(hive_mind, tmp_path):
    # So much that it can't be finished before the signal comes, on the fastest machine.
    notes = tmp_path / "buoys"
    notes.mkdir()
    for file in range(60):
        lines = (f"Buoy {file}-{n} was painted by crew {n % 7} last winter.\n" for n in range(500))
        (notes / f"{file}.txt").write_text("".join(lines))
    arguments = ["learn", notes, "--embed", "sentence_transformers", "--model", "/no/such/model"]
    with hive_mind.start(*arguments, stdout=PIPE, stderr=PIPE) as process:
        # The notice about the missing model comes before the first file is read.
        assert b"keyword search only" in process.stderr.readline()
        process.send_signal(signal.SIGINT)

        err = process.stderr.read()

        assert process.wait(LIMIT_S) == 130
        assert re.match(rb"stopped; \d+ of 60 files( and \d+ % of \S+)? learned, nothing lost", err)
        assert err.count(b"\n") == 1


def test_a_database_in_use_is_told_with_who_uses_it_and_can_be_asked(hive_mind, notes):
    hive_mind("learn", notes)

    async def ask_meanwhile() -> list[subprocess.CompletedProcess[bytes]]:
        async with await open_memory(Settings(home=hive_mind.home, embed="none"), "default"):
            return [_ended(hive_mind.start(*call, stdout=PIPE, stderr=PIPE)) for call in (["ask", "What?"], ["doctor"])]

    asked, examined = asyncio.run(ask_meanwhile())

    assert asked.returncode == 0, asked.stderr
    assert examined.returncode == 0, examined.stdout
    assert b"in use by process" in b" ".join(examined.stdout.split())


def test_a_terminal_that_lacks_a_character_is_no_reason_to_fail(hive_mind, notes):
    hive_mind("learn", notes)
    question = ["ask", "When does the ferry to Corrin leave?"]

    ascii_only = _ended(hive_mind.start(*question, stdout=PIPE, stderr=PIPE, PYTHONIOENCODING="ascii"))
    in_json = _ended(hive_mind.start(*question, "-o", "json", stdout=PIPE, stderr=PIPE, PYTHONIOENCODING="ascii"))

    assert (ascii_only.returncode, ascii_only.stderr) == (0, b"")
    assert b"?The ferry to Corrin leaves at nine.?" in ascii_only.stdout
    assert "“The ferry" in json.loads(in_json.stdout)["text"]


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "de_DE.ISO-8859-1"])
@pytest.mark.parametrize("is_utf8", ["0", "1"])
def test_no_letter_is_lost_for_a_locale(hive_mind, tmp_path, locale, is_utf8):
    around = {"LC_ALL": locale, "PYTHONUTF8": is_utf8, "PYTHONCOERCECLOCALE": "0"}
    note = tmp_path / "naïve.txt"
    note.write_text("The café in Zürich opens at nine.", "utf-8")

    learned = _ended(hive_mind.start("learn", str(note), stdout=PIPE, stderr=PIPE, **around))
    answered = _ended(hive_mind.start("ask", "When does the café in Zürich open?", stdout=PIPE, stderr=PIPE, **around))
    plain = _ended(hive_mind.start("sources", stdout=PIPE, stderr=PIPE))

    assert (learned.returncode, answered.returncode, plain.returncode) == (0, 0, 0)
    assert "The café in Zürich opens at nine." in answered.stdout.decode()
    assert "naïve.txt" in plain.stdout.decode()


def test_bytes_that_are_no_text_do_not_hurt_in_names_or_questions(hive_mind, tmp_path):
    odd = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    Path(os.fsdecode(odd)).write_text("The ferry leaves at nine.")

    learned = _ended(hive_mind.start("learn", os.fsdecode(odd), "-o", "json", stdout=PIPE, stderr=PIPE))
    asked = _ended(hive_mind.start("ask", "When does the ferry leave\udcff", "-o", "json", stdout=PIPE, stderr=PIPE))

    assert (learned.returncode, learned.stderr, asked.returncode, asked.stderr) == (0, b"", 0, b"")
    assert json.loads(learned.stdout)["files"][0]["added"] == 1
    assert json.loads(asked.stdout)["question"].startswith("When does the ferry leave")


def _ended(process: subprocess.Popen[bytes]) -> subprocess.CompletedProcess[bytes]:
    out, err = process.communicate(timeout=LIMIT_S)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
