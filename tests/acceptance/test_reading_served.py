"""Commands that look at a memory say the same, whichever process has it open."""

import json
import os
import sys
from itertools import product
from pathlib import Path
from subprocess import DEVNULL, PIPE, run

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.servers.openai_compatible import OpenAICompatibleServer

pytestmark = pytest.mark.slow

NOTES = "The ferry leaves at nine. Pump D4 cools the transformers. The gateway listens on port 8443."
QUESTION = "When does the ferry leave?"


@pytest.fixture
def taught(guarded: HiveMind) -> HiveMind:
    """One agent that learned something, and corrected it."""
    assert guarded("learn", "-", "--source", "notes", stdin=NOTES).code == 0
    assert guarded("learn", "-", "--source", "ben", stdin="The gateway listens on port 9443.").code == 0
    return guarded


def test_reading_commands_print_the_same_while_the_resident_process_has_the_memory_open(taught: HiveMind) -> None:
    id_ = taught("facts", "list", "-o", "json").json[0]["id"][:8]
    commands = [
        ("facts", "list"),
        ("facts", "list", "-n", 2),
        ("facts", "list", "--concept", "ferry"),
        ("facts", "search", "gateway port", "--explain"),
        ("facts", "show", id_),
        ("stats",),
        ("ask", QUESTION, "--explain"),
    ]
    wanted = [(*command, *form) for command in commands for form in ((), ("-o", "json"))]
    alone = [taught(*command) for command in wanted]

    assert taught("serve").code == 0
    served = [taught(*command) for command in wanted]

    assert [(ended.code, ended.err.splitlines()) for ended in served if ended.code or "fleet resident" not in ended.err] == []
    # Which does not load the command line.
    (out, _) = taught.start("ask", QUESTION, "--explain", stdout=PIPE, stderr=DEVNULL).communicate(timeout=120)
    assert out.decode() == served[wanted.index(("ask", QUESTION, "--explain"))].out
    for command, one, other in zip(wanted, alone, served, strict=True):
        out = other.out.replace('"fleet": "resident"', '"fleet": ""')
        assert (command, out) == (command, one.out)


NOWHERE = {
    ">/dev/full": "No space left on device; make room there, and run it again",
    ">&-": "Bad file descriptor; give it a standard output, such as > /dev/null",
}


def test_where_what_is_printed_goes_nowhere_a_line_says_so_whatever_was_to_print_it(taught: HiveMind) -> None:
    assert taught("serve").code == 0
    calls = (("--help",), ("facts", "list"), ("facts", "list", "-o", "json"), ("ask", QUESTION), ("hook", "session-start"))
    for call, (where, reason) in product(calls, NOWHERE.items()):
        command = ["sh", "-c", f'exec "$@" {where}', "sh", sys.executable, "-m", "hive_mind", *call]
        ended = run(command, env=os.environ | taught.environment, stdin=DEVNULL, stderr=PIPE, text=True, timeout=120, check=False)
        assert (ended.returncode, ended.stderr.splitlines()[-1:]) == (1, [f"error: writing: {reason}"]), call
        assert "Traceback (most recent call last):" not in ended.stderr


def test_a_fact_is_taken_back_where_the_memory_is_open(taught: HiveMind) -> None:
    (fact, *_) = taught("facts", "list", "-o", "json").json
    assert taught("serve").code == 0

    retracted = taught("facts", "retract", fact["id"][:8], "--yes", "-o", "json")

    assert (retracted.code, retracted.json["id"], retracted.json["sharing"]) == (0, fact["id"], "retracted"), retracted.err
    assert taught("facts", "show", fact["id"], "-o", "json").json["sharing"] == "retracted"
    assert taught("stats", "-o", "json").json["retracted"] == 1
    assert fact["id"] not in [one["id"] for one in taught("facts", "list", "-o", "json").json]


def test_a_folder_is_learned_line_by_line_in_as_few_calls_whichever_process_learns(guarded: HiveMind, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("alone", "served")]
    for folder in folders:
        folder.mkdir()
        for number in range(30):
            (folder / f"{number:02}.txt").write_text(f"Weir {number} {folder.name} opens at six. And who has its key?")
    calls, learned = [], []
    with OpenAICompatibleServer() as model:
        embedding = guarded.with_environment(
            HIVE_MIND_EMBED="openai", HIVE_MIND_EMBED_URL=model.base_url, HIVE_MIND_EMBED_MODEL="m", HIVE_MIND_EMBED_KEY="k"
        )
        for folder in folders:
            if folder.name == "served":
                assert embedding("serve").code == 0
            before = len(model.requests)
            ended = embedding("learn", folder, "--explain", "-o", "json")
            assert ended.code == 0, ended.err
            learned.append([[*file["lines"], file["left_out"]] for file in ended.json["files"]])
            calls.append(len(model.requests) - before)

    assert ended.json["agent"] == "default"
    assert "fleet resident" in ended.err
    assert json.loads(json.dumps(learned[0]).replace("alone", "served")) == learned[1]
    assert learned[1][0][1]["what"] == "left out (a question)"
    assert max(calls) < 6
