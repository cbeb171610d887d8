"""Homes that an earlier version wrote are opened, and all that is asked of them is answered as it was (`make replay`)."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.inventory.inventory import FILE as INVENTORY
from tests.replay.homes import FOLDER, HOMES
from tests.replay.replay import UPDATE, differences, replies
from tests.replay.script import DOORS, steps_of
from tests.sampled import usually
from tests.servers.redis_server import redis_program

LINES = INVENTORY.read_text("utf-8").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("name", usually(HOMES, "alone", "sharded"))
def test_what_is_asked_of_a_home_is_answered_as_it_was(name: str, tmp_path: Path) -> None:
    redis_program()
    changed = [line for file, text in replies(HOMES[name], tmp_path).items() for line in differences(file, text)]
    assert not changed, f"`{UPDATE}` if that is meant:\n" + "\n".join(changed)


def asked(sign: str) -> Iterator[str]:
    for home in HOMES:
        for door in DOORS:
            if (file := FOLDER / f"{home}.{door}").exists():
                yield from (step.text for step in steps_of(file) if step.sign == sign)


def test_every_command_is_called() -> None:
    commands = [line.removeprefix("command hive-mind ") for line in LINES if re.fullmatch(r"command hive-mind [a-z -]+", line)]
    called = list(asked("$"))
    assert len(called) > 200
    assert [command for command in commands if not any(f"{line} ".startswith(f"{command} ") for line in called)] == []


def test_every_request_is_put_over_http() -> None:
    requests = {line.split()[1] for line in LINES if line.startswith("request ")}
    put = list(asked(">"))
    assert len(put) > 60
    assert requests - {line.split()[2].partition("?")[0].rpartition("/")[2] for line in put} == set()


def test_every_tool_resource_and_prompt_of_mcp_is_used() -> None:
    used = list(asked("@"))
    assert len(used) > 20
    for kind, form in (("tool", '"name": "{}"'), ("prompt", '"name": "{}"'), ("resource", '"uri": "{}"')):
        names = {line.split()[2] for line in LINES if line.startswith(f"mcp {kind} ")}
        patterns = {
            name: re.escape(form.format(name)).replace(r"\{id\}", "[0-9a-f]+").replace(r"\{name\}", r"\w+") for name in names
        }
        assert [name for name, pattern in patterns.items() if not any(re.search(pattern, line) for line in used)] == []
