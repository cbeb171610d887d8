"""The command in a process of its own: module, pipes, Ctrl-C, two at once."""

import asyncio
import json
import signal
import subprocess
from subprocess import PIPE

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

    for arguments in (["facts", "export"], ["facts", "list", "-n", "1000"]):
        process = hive_mind.start(*arguments, stdout=PIPE, stderr=PIPE)
        process.stdout.close()
        _, err = process.communicate(timeout=LIMIT_S) if process.stdout is None else (b"", process.stderr.read())
        process.stderr.close()

        assert err == b""
        assert process.wait(LIMIT_S) == 141


def test_ctrl_c_is_130_with_one_line(hive_mind):
    arguments = ["learn", "-", "--embed", "sentence_transformers", "--model", "/no/such/model"]
    with hive_mind.start(*arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        # The notice about the missing model comes before standard input is read, which never ends here.
        assert b"keyword search only" in process.stderr.readline()
        process.send_signal(signal.SIGINT)

        err = process.stderr.read()

        assert process.wait(LIMIT_S) == 130
        assert err.startswith(b"stopped; ")
        assert err.count(b"\n") == 1


def test_a_database_in_use_is_told_with_who_uses_it(hive_mind, notes):
    hive_mind("learn", notes)

    async def ask_meanwhile() -> list[subprocess.CompletedProcess[bytes]]:
        async with await open_memory(Settings(home=hive_mind.home, embed="none"), "default"):
            return [_ended(hive_mind.start(*call, stdout=PIPE, stderr=PIPE)) for call in (["ask", "What?"], ["doctor"])]

    asked, examined = asyncio.run(ask_meanwhile())

    assert (asked.returncode, asked.stdout) == (1, b"")
    assert b"has it open" in asked.stderr
    assert examined.returncode == 1
    assert b"open by process" in examined.stdout


def _ended(process: subprocess.Popen[bytes]) -> subprocess.CompletedProcess[bytes]:
    out, err = process.communicate(timeout=LIMIT_S)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
