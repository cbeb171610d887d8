"""`hive-mind simulate`: a table, JSON, a picture, and the command that repeats what broke."""

import sys

import msgspec
from typer.testing import CliRunner

from hive_mind.cli import simulate
from hive_mind.cli.app import app
from hive_mind.installation import command_for_extra
from hive_mind.sim import parse
from hive_mind.sim.run import SimulationPlan, SimulationReport
from hive_mind.sim.world import Violation

RUN = CliRunner()
SHORT = ["simulate", "--seeds", "0:2", "--ops", "10", "--faults", "loss,duplication"]


def broken(plan: SimulationPlan) -> tuple[SimulationReport, float]:
    violation = Violation("I0 nothing holds", "as the test wants it") if plan.seed == 1 else None
    return SimulationReport(plan, violation, 1, 3_600_000, 1, 1, "d", 2, ((0.5, 0.5), (1.0, 1.0))), 0.5


def test_json_has_a_row_per_topology_and_its_convergence_and_a_plot_a_line(tmp_path):
    path = tmp_path / "convergence.svg"
    result = RUN.invoke(app, [*SHORT, "--topology", "flat,federated", "--output", "json", "--plot", str(path)])
    rows = msgspec.json.decode(result.stdout)["rows"]
    assert result.exit_code == 0, result.stderr
    assert [(row["topology"], row["seeds"], row["violations"]) for row in rows] == [("flat", 2, 0), ("federated", 2, 0)]
    assert all(row["convergence"][-1]["median"] == 1.0 for row in rows)

    assert f"drawn into {path}" in result.stderr.replace("\n", "")
    picture = path.read_text("utf-8")
    assert picture.startswith("<svg")
    assert [picture.count(f">{name}</text>") for name in ("flat", "federated", "sharded")] == [1, 1, 0]


def test_a_broken_promise_is_exit_code_1_and_one_command_that_repeats_it(monkeypatch):
    monkeypatch.setattr(simulate, "timed_run", broken)
    result = RUN.invoke(app, [*SHORT, "--topology", "sharded"])
    assert result.exit_code == 1
    assert "hive-mind simulate --topology sharded --seeds 1:2 --faults loss,duplication --ops 10" in result.stdout


def test_ctrl_c_prints_what_was_done_so_far(monkeypatch):
    def stopping(plan: SimulationPlan) -> tuple[SimulationReport, float]:
        if plan.seed:
            raise KeyboardInterrupt
        return broken(plan)

    monkeypatch.setattr(simulate, "timed_run", stopping)

    result = RUN.invoke(app, [*SHORT, "--topology", "flat", "--output", "json"])

    said = msgspec.json.decode(result.stdout)
    assert result.exit_code == 130
    assert (said["stopped"], said["rows"][0]["seeds"]) == (True, 1)


def test_a_plot_that_can_not_be_written_is_told_after_what_was_found(tmp_path):
    (tmp_path / "folder.svg").mkdir()
    result = RUN.invoke(app, [*SHORT, "--topology", "flat", "--plot", str(tmp_path / "folder.svg")])
    assert result.exit_code == 2
    assert "can't be written" in result.stderr
    assert "flat" in result.stdout


def test_a_plot_without_matplotlib_is_refused_before_anything_is_simulated(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = RUN.invoke(app, [*SHORT, "--topology", "flat", "--plot", str(tmp_path / "convergence.svg")])
    assert (result.exit_code, result.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert f"--plot 'convergence.svg' needs an extra: {command_for_extra('plots')}" in result.stderr
    assert RUN.invoke(app, [*SHORT, "--topology", "flat"]).exit_code == 0


def test_two_processes_find_the_same():
    one, two = (RUN.invoke(app, [*SHORT, "--topology", "flat", "-o", "json", "--jobs", jobs]).stdout for jobs in "12")

    def without_time(text: str) -> object:
        return [{k: v for k, v in row.items() if k != "cpu_seconds"} for row in msgspec.json.decode(text)["rows"]]

    assert without_time(one) == without_time(two)


def test_what_cannot_be_simulated_is_said():
    for arguments, word in (
        (["--topology", "ring"], "ring"),
        (["--faults", "gremlins"], "gremlins"),
        (["--seeds", "5:5"], "0:500"),
        (["--plot", "picture.bmp"], "SVG or PNG"),
        (["--plot", "nowhere/picture.svg"], "there is no folder nowhere"),
    ):
        result = RUN.invoke(app, ["simulate", *arguments])
        assert result.exit_code == 2
        assert word in result.stderr


def test_the_repeating_command_says_only_what_is_needed():
    report = SimulationReport(SimulationPlan("flat", 7, parse("all")), None, 1, 1, 1, 1, "", 1, ())
    assert simulate.repeat_command(report, "all") == "hive-mind simulate --topology flat --seeds 7:8 --faults all"
