"""Which fleet a command means, and what the shell is offered."""

import asyncio

import pytest
from typer.testing import CliRunner

from hive_mind.cli import fleet as fleets
from hive_mind.cli.app import app
from hive_mind.cli.fleet import live, members
from hive_mind.cli.fleet.live import latest_lines
from hive_mind.cli.running import Stopped
from hive_mind.control.controller import HiveController
from hive_mind.control.processes import ProcessFiles
from hive_mind.control.state import FleetFolder, FleetState
from hive_mind.errors import InvalidInput, ManifestError


def fleet(home, name, **state):
    folder = FleetFolder(home, name).make()
    folder.keep(FleetState(**state))
    return folder


@pytest.mark.parametrize(
    ("running", "stopped", "named", "meant"),
    [
        (["research"], [], "", "research"),
        (["new"], ["old"], "", "new"),
        (["new"], ["old"], "old", "old"),
        ([], [], "", "hive-mind apply -f"),
        (["north", "south"], [], "", r"which fleet\? Add --fleet and one of north, south"),
        (["research"], [], "reserch", r"no fleet 'reserch'.*its fleets: research"),
    ],
)
def test_the_only_fleet_that_was_not_stopped_needs_no_name_and_else_it_is_said_what_there_is(
    tmp_path, running, stopped, named, meant
):
    for name in (*running, *stopped):
        fleet(tmp_path, name, is_stopped=name in stopped)
    if meant in (*running, *stopped):
        assert fleets.chosen_fleet(tmp_path, named) == meant
    else:
        with pytest.raises(InvalidInput, match=meant):
            fleets.chosen_fleet(tmp_path, named)


def test_a_manifest_on_standard_input_is_checked_like_one_in_a_file(monkeypatch):
    text = """apiVersion: hive-mind/v1
kind: Hive
metadata: {name: town}
spec: {agents: [{name: ada, sources: [nowhere.txt], env: {KEY: "${env:TOWN_KEY}"}}]}
"""
    monkeypatch.setattr(fleets, "read_stdin", lambda _: text.encode())

    with pytest.raises(ManifestError) as refused:
        fleets.source_of("-")

    assert "${env:TOWN_KEY} is not set" in str(refused.value)
    assert "nothing is there" in str(refused.value)


@pytest.mark.parametrize("command", [["delete"], ["describe", "hive"]])
def test_a_command_that_takes_the_name_as_an_argument_asks_for_it_alone(tmp_path, command):
    fleet(tmp_path, "north")
    fleet(tmp_path, "south")
    ended = CliRunner().invoke(app, [*command, "--home", str(tmp_path)])
    assert (ended.exit_code, ended.stderr) == (2, "error: which fleet? Add one of north, south\n")


def test_the_shell_is_offered_names(tmp_path, monkeypatch):
    monkeypatch.setenv("HIVE_MIND_HOME", str(tmp_path))
    fleet(tmp_path, "research", agents=("ada", "anna", "ben"), allocation={"ada": {"ada": ("ada",)}})
    assert fleets.fleet_names("re") == ["research"]
    assert fleets.agent_names("a") == ["ada", "anna"]
    assert fleets.process_names("") == ["ada"]


def test_logs_are_those_of_the_process_an_agent_runs_in(tmp_path):
    folder = fleet(tmp_path, "team", allocation={"team-0": {"team-0": ("ada", "ben")}, "team-1": {"team-1": ("cleo",)}})

    assert live.processes_of(folder, "ben") == ["team-0"]
    assert live.processes_of(folder, "team-1") == ["team-1"]
    assert live.processes_of(folder, "") == ["team-0", "team-1"]
    with pytest.raises(InvalidInput, match="'zoe'"):
        live.processes_of(folder, "zoe")
    # Also of one that left the fleet.
    ProcessFiles(folder.path, "zoe").log.write_text("2026-01-01 00:00:00,000 INFO zoe: finishing\n")
    assert live.processes_of(folder, "zoe") == ["zoe"]


def test_several_logs_that_are_followed_end_alike_when_the_reader_goes_away(tmp_path, monkeypatch):
    def gone(_text):
        raise BrokenPipeError

    folder = fleet(tmp_path, "research", allocation={name: {name: (name,)} for name in ("ada", "ben")})
    for name in ("ada", "ben"):
        ProcessFiles(folder.path, name).log.write_text("2026-01-01 00:00:00,000 INFO ready\n")
    monkeypatch.setattr(live, "show", gone)

    with pytest.raises(BrokenPipeError):
        asyncio.run(live.logs.__wrapped__(follow=True, home=tmp_path))


def test_lines_of_several_logs_are_put_in_the_order_of_their_times(tmp_path):
    folder = fleet(tmp_path, "research")
    ProcessFiles(folder.path, "ada").log.write_text(
        "2026-01-02 10:00:00,100 INFO one\nTraceback\n2026-01-02 10:00:03,000 INFO four\n", "utf-8"
    )
    ProcessFiles(folder.path, "ben").log.write_text('{"time":"2026-01-02T10:00:02.000+00:00","message":"three"}\n', "utf-8")

    lines = asyncio.run(latest_lines(folder.path, ["ada", "ben", "cleo"], 3))
    assert [(line.process, line.text[:9]) for line in lines] == [("ada", "Traceback"), ("ben", '{"time":"'), ("ada", "2026-01-0")]


@pytest.mark.parametrize("is_purging", [False, True])
async def test_a_change_that_is_stopped_says_what_became_of_the_memory_and_what_to_do(tmp_path, monkeypatch, is_purging):
    fleet(tmp_path, "harbour", revision=1)
    begun = asyncio.Event()

    async def waits(*_: object, **__: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(HiveController, "delete", waits)
    deleting = asyncio.create_task(members._delete(tmp_path, "harbour", 60.0, is_purging=is_purging))
    await begun.wait()
    deleting.cancel()
    with pytest.raises(Stopped) as stopped:
        await deleting
    assert ("nothing is lost" in str(stopped.value)) != is_purging
    assert "hive-mind status shows what runs): run it again to go on" in str(stopped.value)
