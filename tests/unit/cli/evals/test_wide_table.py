"""Tables that are wider than the terminal."""

import io

import pytest
from rich.text import Text

from hive_mind.cli.evals.scorecard_table import show_wide_table

TITLES = ["", "recall", "messages", "bytes"]
ROWS = [
    ["single", "0.700 [0.6–0.8]", "0", "0"],
    ["sharded, 100 agents, simulator, members late", "0.700 [0.6–0.8]", "140", "39842"],
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    show_wide_table(TITLES, ROWS)
    return Text.from_ansi(terminal.getvalue()).plain.splitlines()


@pytest.mark.parametrize("columns", [50, 60, 80, 200])
def test_no_figure_is_cut_off_at_any_width(columns: int, monkeypatch: pytest.MonkeyPatch):
    lines = shown(columns, monkeypatch)

    words = " ".join(lines)
    assert all(figure in words for figure in ("0.700 [0.6–0.8]", "140", "39842", "recall", "messages", "bytes"))
    assert max(map(len, lines)) <= columns
    assert sum(line.startswith("single") for line in lines) == sum(not line for line in lines) + 1


def test_where_there_is_room_it_is_one_table(monkeypatch: pytest.MonkeyPatch):
    assert len(shown(120, monkeypatch)) == 3


def test_for_a_pipe_a_row_is_a_line(capsys: pytest.CaptureFixture[str]):
    show_wide_table(TITLES, ROWS)

    assert len(capsys.readouterr().out.splitlines()) == 3
