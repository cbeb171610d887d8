import re
from pathlib import Path

import pytest

from benchmarks.growth.__main__ import FOLDER, TITLES, known
from benchmarks.growth.plots import Line, Plot, draw, lines_of

PLOT = Plot(
    "agents",
    "More and more agents",
    "agents",
    (Line("CPU ms", "flat", (5, 50), (1.0, 110.0)), Line("CPU ms", "a limit", (5, 50), (0.5, 0.5), is_peer=True)),
    "python -m benchmarks.growth --only agents",
    "a machine",
    "2026-01-01",
)


def test_lines_are_made_of_what_each_step_measured() -> None:
    rows = [(1.0, {("ms", "ours"): 2.0, ("ms", "peer"): 4.0}), (10.0, {("ms", "ours"): 3.0})]
    assert lines_of(rows, frozenset(("peer",))) == (
        Line("ms", "ours", (1.0, 10.0), (2.0, 3.0)),
        Line("ms", "peer", (1.0,), (4.0,), is_peer=True),
    )


def drawn(plot: Plot, folder: Path) -> bytes:
    pytest.importorskip("matplotlib")
    return draw(plot, folder).read_bytes()


def test_a_plot_says_what_is_in_it_and_how_it_was_measured(tmp_path: Path) -> None:
    picture = drawn(PLOT, tmp_path).decode()
    for said in ("More and more agents", "CPU ms", "flat", "a limit", PLOT.command, "a machine, 2026-01-01"):
        assert said in picture
    assert "$" not in picture


def test_the_same_figures_give_the_same_bytes(tmp_path: Path) -> None:
    assert drawn(PLOT, tmp_path) == drawn(PLOT, tmp_path)


def test_every_plot_was_measured_is_drawn_small_and_shown_with_its_command() -> None:
    plots = {plot.name: plot for plot in known(FOLDER / "growth.json")}
    page = (FOLDER.parent / "README.md").read_text("utf-8")

    assert list(plots) == list(TITLES)
    for name, plot in plots.items():
        assert (FOLDER / f"{name}.svg").stat().st_size < 100_000
        assert re.search(rf"!\[[^\]]+\]\(growth/{name}\.svg\)", page)
        assert plot.command in page
