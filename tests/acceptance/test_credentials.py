"""`hive-mind credentials` as a person and a program use it: prompts, standard input, refusals, forms of output."""

import os
import pty
import signal
import sys
from pathlib import Path
from threading import Timer

import pytest

from hive_mind.credentials import new_key
from hive_mind.installation import command_for_extra
from tests.acceptance.hive_mind_command import HiveMind

VALUE = "sw0rdfish-7"
PATIENCE_S = 60.0


def test_values_go_in_over_standard_input_and_never_come_out(hive_mind: HiveMind) -> None:
    said = [
        hive_mind("credentials", "set", "tickets", stdin=f"{VALUE}\n"),
        hive_mind("credentials", "set", "tickets", stdin=f"{VALUE}8"),
        hive_mind("credentials", "list"),
        hive_mind("credentials", "rotate"),
        hive_mind("credentials", "delete", "tickets"),
        hive_mind("credentials", "list"),
    ]

    assert [one.code for one in said] == [0] * 6
    assert [one.out for one in said] == [
        "tickets is set; where it is to stand, write ${credential:tickets}\n",
        "tickets is replaced; where it is to stand, write ${credential:tickets}\n",
        "tickets\n",
        "1 credential encrypted with a new key\n",
        "tickets is deleted\n",
        "",
    ]
    assert not any(VALUE in one.out + one.err for one in said)


def test_programs_get_json(hive_mind: HiveMind) -> None:
    there = {"name": "tickets", "reference": "${credential:tickets}"}

    assert hive_mind("credentials", "set", "tickets", "-o", "json", stdin=VALUE).json == there | {"is_new": True}
    assert hive_mind("credentials", "set", "tickets", "-o", "json", stdin=VALUE).json == there | {"is_new": False}
    assert hive_mind("credentials", "list", "-o", "json").json == [there]
    assert hive_mind("credentials", "rotate", "--output", "json").json == {"rotated": 1}
    assert hive_mind("credentials", "delete", "tickets", "-o", "json").json == {"name": "tickets", "deleted": True}
    assert hive_mind("credentials", "list", "-o", "json").json == []


@pytest.mark.parametrize(
    ("words", "stdin", "why"),
    [
        (["set", "Tickets_1"], VALUE, "lower-case letters"),
        (["set", "tickets"], "abc\n", "4 characters"),
        (["set", "tickets"], "", "4 characters"),
        (["set", "tickets"], b"\xff\xfe\xfa\xfb\xff", "not text in UTF-8"),
        (["set", "tickets"], "x" * 70_000, "larger than 64 kB"),
        (["delete", "tickets"], "", "there is no credential tickets"),
        (["set", "tickets", VALUE], "", ""),
        (["set"], VALUE, ""),
    ],
)
def test_what_cannot_be_is_wrong_use_and_keeps_none(hive_mind: HiveMind, words: list[str], stdin: str | bytes, why: str) -> None:
    ended = hive_mind("credentials", *words, stdin=stdin)
    assert (ended.code, ended.out) == (2, "")
    assert why in ended.err
    assert hive_mind("credentials", "list").out == ""


def test_what_can_not_be_read_fails_and_changes_nothing(hive_mind: HiveMind) -> None:
    hive_mind("credentials", "set", "tickets", stdin=VALUE)
    file = hive_mind.home / "credentials" / "credentials.json"
    file.write_bytes(body := file.read_bytes()[:-20])

    for words in (["set", "tickets"], ["list"], ["rotate"], ["delete", "tickets"]):
        ended = hive_mind("credentials", *words, stdin=VALUE)
        assert (ended.code, ended.out) == (1, "")
        assert "is damaged: restore a copy of it" in ended.err
    assert file.read_bytes() == body


def test_a_home_of_another_place_has_its_own(hive_mind: HiveMind, tmp_path: Path) -> None:
    hive_mind("credentials", "set", "tickets", "--home", tmp_path / "other", stdin=VALUE)
    assert hive_mind("credentials", "list").out == ""
    assert hive_mind("credentials", "list", "--home", tmp_path / "other").out == "tickets\n"


def test_without_the_extra_it_is_named(hive_mind: HiveMind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.fernet", None)
    monkeypatch.delitem(sys.modules, "hive_mind.credentials.fernet", raising=False)
    ended = hive_mind("credentials", "set", "tickets", stdin=VALUE)
    assert ended.code == 2
    assert command_for_extra("credentials") in ended.err


def at_a_terminal(hive_mind: HiveMind, typed: bytes) -> tuple[int, str]:
    """Call `set tickets` with a terminal of its own, type after the prompt; its exit code and all that could be seen."""
    pid, terminal = pty.fork()
    if pid == 0:
        root = str(Path(__file__).parents[2])
        words = [sys.executable, "-m", "hive_mind", "credentials", "set", "tickets"]
        os.execve(sys.executable, words, os.environ | hive_mind.environment | {"PYTHONPATH": root})  # noqa: S606 - there is no shell
    # Nothing that it waits for is waited for without a bound.
    timer = Timer(PATIENCE_S, os.kill, (pid, signal.SIGKILL))
    timer.start()
    seen, has_typed = b"", False
    while heard := heard_at(terminal):
        seen += heard
        # What is typed before its prompt it throws away, when it turns the echo off.
        if not has_typed and b"not shown): " in seen:
            has_typed = bool(os.write(terminal, typed))
    _, status = os.waitpid(pid, 0)
    timer.cancel()
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), seen.decode()


def heard_at(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:
        # Linux: nobody has the other end open any more.
        return b""


def test_a_person_types_it_and_nobody_sees_it(hive_mind: HiveMind) -> None:
    code, seen = at_a_terminal(hive_mind, f"{VALUE}\n".encode())
    assert code == 0
    assert "Value of tickets (it is not shown): " in seen
    assert VALUE not in seen
    assert "tickets is set" in seen


@pytest.mark.parametrize(("key", "code", "told"), [(b"\x04", 2, "no value was typed"), (b"\x03", 130, "stopped")])
def test_who_changes_his_mind_at_the_prompt_keeps_what_there_was(hive_mind: HiveMind, key: bytes, code: int, told: str) -> None:
    hive_mind("credentials", "set", "tickets", stdin=VALUE)
    before = (hive_mind.home / "credentials" / "credentials.json").read_bytes()

    ended, seen = at_a_terminal(hive_mind, key)

    assert ended == code
    assert told in seen
    assert (hive_mind.home / "credentials" / "credentials.json").read_bytes() == before


MANIFEST = """
apiVersion: hive-mind/v1
kind: Hive
metadata: {name: town}
spec:
  topology: single
  agents: [{name: ada, env: {TOKEN: "${credential:tickets}"}}]
"""


def test_a_manifest_is_told_what_is_not_set_and_looks_into_the_home_that_is_meant(hive_mind: HiveMind, tmp_path: Path) -> None:
    town, other = tmp_path / "town.yaml", tmp_path / "other"
    town.write_text(MANIFEST)
    hive_mind("credentials", "set", "tickets", "--home", other, stdin=VALUE)

    for words in (("file", "validate", town), ("plan", "-f", town)):
        ended = hive_mind(*words)
        assert ended.code == 2
        assert (
            "spec.agents[0].env.TOKEN: ${credential:tickets} is not set: hive-mind credentials set tickets"
            in ended.out + ended.err
        )
    assert hive_mind("plan", "-f", town, "--home", other).code == 0
    assert hive_mind("file", "validate", "--form", town).code == 0


def test_a_wrong_key_is_one_of_the_faults_of_a_manifest(hive_mind: HiveMind, tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(MANIFEST)
    hive_mind("credentials", "set", "tickets", stdin=VALUE)
    ended = hive_mind.with_environment(HIVE_MIND_CREDENTIALS_KEY=new_key())("file", "validate", tmp_path / "town.yaml")
    assert ended.code == 2
    assert "spec.agents[0].env.TOKEN: credentials: the key of HIVE_MIND_CREDENTIALS_KEY does not open" in ended.out
