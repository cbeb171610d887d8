"""Drawings: the same data draws the same bytes, in the page's colours, with words for those who don't see them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from markupsafe import escape

from hive_mind.drawing import COLOURS
from hive_mind.evals.experiments import Arm, Fault
from hive_mind.evals.report import write_report
from hive_mind.evals.report.selecting import no_drawings, quality_metric, settings_of
from hive_mind.evals.scorecard import read_scorecard
from hive_mind.installation import command_for_extra
from tests.unit.evals.report.invented import experiment, write_run

ARMS = (Arm("single"), Arm("flat", 10), Arm("sharded", 2), Arm("sharded", 10), Arm("sharded", 100, place="simulator"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    faults = [Fault(), Fault(down=1), Fault(slow=2, slow_ms=300)]
    return write_run(tmp_path_factory.mktemp("run"), experiment("Letters & more", arms=ARMS, faults=faults, seeds=(1, 2)))


@pytest.fixture(scope="module")
def drawings(folder: Path):
    from hive_mind.evals.report.drawings import drawn

    return drawn(read_scorecard(folder))


def test_every_question_of_the_issue_has_its_drawing(drawings):
    assert [plot.name for plot in drawings.settings[0]] == [
        "quality-by-messages-letters-more",
        "quality-by-agents-letters-more",
        "latency-by-agents-letters-more",
        "by-category-letters-more",
    ]
    assert {plot.name.partition("-letters")[0] for plot in drawings.failures} == {
        *("completeness-by-down", "quality-by-down", "completeness-by-slow", "latency-by-slow")
    }
    assert [plot.name.partition("-")[0] for plot in drawings.costs] == ["messages", "bytes"]


def test_the_same_data_draws_the_same_bytes_whatever_matplotlib_was_told(folder, drawings):
    import matplotlib as mpl

    from hive_mind.evals.report.drawings import _named, _own

    card = read_scorecard(folder)
    ((setting, name),) = _named(settings_of(card))
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        again = tuple(_own(setting, quality_metric(card), name))

    assert again == drawings.settings[0]


def test_a_png_is_one_and_says_what_it_shows(drawings):
    for plot in drawings.all:
        assert plot.png.startswith(b"\x89PNG")
        assert plot.title.encode("latin-1") in plot.png


def test_a_drawing_on_the_page_has_a_size_words_and_no_colour_of_its_own(drawings):
    for plot in drawings.all:
        assert re.match(r'<svg class="plot" role="img" viewBox="0 0 [\d.]+ [\d.]+" aria-labelledby="', plot.svg)
        assert f'<title id="{plot.name}-title">' in plot.svg
        assert re.findall(r"#[0-9a-fA-F]{6}\b", plot.svg) == []
        assert "var(--text)" in plot.svg
        assert "<style" not in plot.svg
        assert ("system-ui, sans-serif" in plot.svg, "DejaVu" in plot.svg) == (True, False)


def test_what_is_told_of_a_drawing_are_its_figures(drawings, folder):
    singles = [cell.metrics["recall@10"].mean for cell in read_scorecard(folder).done if cell.arm.kind == "single"]

    assert len(singles) == 2
    assert f"single: {sum(singles) / 2:.3g}; flat" in drawings.settings[0][1].caption


def test_no_two_roles_have_one_colour_in_light():
    assert len({colour.light for colour in COLOURS.values()}) == len(COLOURS)


def test_data_sets_of_like_names_get_files_of_their_own(tmp_path, monkeypatch):
    from hive_mind.evals.report import drawings
    from hive_mind.evals.report.drawings import drawn

    # Only names are looked at.
    monkeypatch.setattr(drawings, "as_part", lambda *_: "")
    monkeypatch.setattr(drawings, "as_png", lambda *_: b"")
    wanted = experiment("A b", "a-B", "é", arms=(Arm("single"), Arm("sharded", 10)), faults=[Fault()])

    names = [plot.name for plot in drawn(read_scorecard(write_run(tmp_path / "run", wanted, questions=6))).all]

    assert len(set(names)) == len(names)
    assert {"by-category-a-b", "by-category-a-b-2", "by-category-data"} <= set(names)


def test_drawings_of_a_former_report_are_taken_away(folder, drawings, monkeypatch):
    monkeypatch.setattr("hive_mind.evals.report.drawings.drawn", lambda _: drawings)
    (folder / "plots").mkdir(exist_ok=True)
    (folder / "plots" / "quality-by-moon.png").write_bytes(b"old")

    write_report(folder)

    assert {path.stem for path in (folder / "plots").iterdir()} == {plot.name for plot in drawings.all}


def test_without_matplotlib_the_page_has_its_tables_and_says_what_to_install(folder):
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'matplotlib': raise ModuleNotFoundError(f'no {name}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from pathlib import Path\n"
        "from hive_mind.evals.report import write_report\n"
        "write_report(Path(sys.argv[1]))\n"
    )

    subprocess.run([sys.executable, "-c", program, str(folder)], check=True, timeout=100, cwd=Path(__file__).parents[4])

    page = (folder / "report.html").read_text("utf-8")
    assert str(escape(no_drawings())) in page
    assert command_for_extra("plots") in no_drawings()
    assert "<svg" not in page
    assert page.count("<table>") > 5
    assert list((folder / "plots").iterdir()) == []
