import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import check
from benchmarks.check import compare, compared, report, update
from benchmarks.evidence import table
from benchmarks.figure import Better, Figure, Round, Written, read, side_by_side, together, write


def figure(
    *ratios: float,
    name: str = "merge",
    better: Better = "lower",
    is_exact: bool = False,
    value: float = 1.0,
    target: float | None = None,
) -> Figure:
    return Figure(
        name=name,
        what="merge of one fact",
        value=value,
        unit="ms",
        peer="a dict",
        peer_value=1.0,
        ratios=ratios,
        better=better,
        target=target,
        is_exact=is_exact,
        command="python -m benchmarks.evidence --only merge",
    )


@pytest.mark.parametrize(
    ("then", "now", "more", "verdict"),
    [
        # Worse or better in every round than it ever was; rounds that overlap are noise.
        ((1.0, 1.1, 1.2), (1.21, 1.3), {}, "worse"),
        ((1.0, 1.1, 1.2), (0.7, 0.99), {}, "better"),
        *(((1.0, 1.1, 1.2), now, {}, "same") for now in ((1.0,), (0.9, 1.3), (1.2, 5.0), (0.1, 1.0))),
        ((2.0, 2.2), (1.0, 1.9), {"better": "higher"}, "worse"),
        ((2.0, 2.2), (2.3,), {"better": "higher"}, "better"),
        # Exact figures have no noise.
        ((1.4615,), (1.4616,), {"is_exact": True}, "worse"),
        ((1.4615,), (1.4615,), {"is_exact": True}, "same"),
        # Less than a twentieth is the luck of a process.
        ((1.00, 1.01), (1.02, 1.04), {}, "same"),
        ((1.00, 1.01), (0.96, 0.99), {}, "same"),
        ((1.00, 1.00), (1.05, 1.05), {}, "worse"),
    ],
)
def test_what_became_of_a_figure_since_then(
    then: tuple[float, ...], now: tuple[float, ...], more: dict[str, Any], verdict: str
) -> None:
    assert compared("merge", figure(*then, **more), figure(*now, **more)).verdict == verdict


def test_a_figure_that_is_no_longer_measured_is_as_bad_as_a_worse_one_and_a_new_one_no_fault() -> None:
    for then, now, verdict in (((figure(1.0),), (), "gone"), ((), (figure(1.0),), "new")):
        (row,) = compare(Written(then), Written(now))
        assert (row.verdict, row.is_bad) == (verdict, verdict == "gone")


def test_the_report_names_what_got_worse_and_by_how_much(capsys: pytest.CaptureFixture[str]) -> None:
    stored, new = Written((figure(1.0), figure(1.0, name="bus"))), Written((figure(1.5), figure(1.0, name="bus")))
    assert report(compare(stored, new), {}) == 1
    said = capsys.readouterr().out
    assert "worse (+50%)" in said
    assert said.splitlines()[-1] == "worse or gone: merge"


def test_a_run_as_good_as_the_stored_one_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    same = Written((figure(1.0, 1.1),))
    assert report(compare(same, same), {}) == 0
    assert "nothing got worse" in capsys.readouterr().out


def test_a_run_in_which_something_failed_is_not_good(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([], {"bus": "there is no redis-benchmark here"}) == 1
    assert "no redis-benchmark" in capsys.readouterr().out


def test_figures_are_read_as_they_were_written(tmp_path: Path) -> None:
    written = Written((figure(1.25, 0.5, target=2.0),), (0.5, 1.5), {"bus": "why"})
    write(tmp_path / "figures.json", written)
    assert read(tmp_path / "figures.json") == written
    assert json.loads((tmp_path / "figures.json").read_text())["figures"][0]["ratio"] == 0.875


def test_storing_a_part_keeps_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "ratios.json"
    update(file, Written((figure(1.0), figure(2.0, name="bus"))))
    assert update(file, Written((figure(3.0, name="bus"),))) == 0
    assert {one.name: one.ratio for one in read(file).figures} == {"merge": 1.0, "bus": 3.0}


def test_a_run_in_which_something_failed_is_not_stored(tmp_path: Path) -> None:
    assert update(tmp_path / "ratios.json", Written((figure(1.0),), failed={"bus": "why"})) == 1
    assert not (tmp_path / "ratios.json").exists()


@pytest.mark.parametrize(("ratios", "code"), [((1.0, 1.1), 0), ((3.0,), 1)])
def test_the_command_compares_a_file_of_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ratios: tuple[float, ...], code: int
) -> None:
    write(tmp_path / "stored.json", Written((figure(1.0, 1.2),)))
    write(tmp_path / "new.json", Written((figure(*ratios),)))
    given = ["--new", str(tmp_path / "new.json"), "--stored", str(tmp_path / "stored.json")]
    monkeypatch.setattr("sys.argv", ["check", *given])
    assert check.main() == code


def test_a_part_is_compared_with_that_part_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "stored.json", Written((figure(1.0),)))
    write(tmp_path / "new.json", Written(()))
    given = ["--new", str(tmp_path / "new.json"), "--stored", str(tmp_path / "stored.json"), "--only", "bus"]
    monkeypatch.setattr("sys.argv", ["check", *given])
    assert check.main() == 0


def test_without_stored_ratios_it_says_how_to_store_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "new.json", Written((figure(1.0),)))
    monkeypatch.setattr("sys.argv", ["check", "--new", str(tmp_path / "new.json"), "--stored", str(tmp_path / "none.json")])
    assert check.main() == 2
    assert "--update" in capsys.readouterr().err


def test_the_ratios_in_the_tree_can_be_read_and_each_says_how_it_was_measured() -> None:
    stored = read(check.STORED)
    assert stored.figures
    assert [one.name for one in stored.figures if not (one.command and one.machine and one.date and one.ratios)] == []


def test_the_readme_shows_the_ratios_in_the_tree() -> None:
    page = check.STORED.with_name("README.md").read_text("utf-8").splitlines()
    assert [line for line in table(read(check.STORED)) if line.startswith("|") and line not in page] == []


def test_a_target_is_kept_from_its_own_side() -> None:
    assert figure(1.0, value=2.0, target=2.0).is_met
    assert not figure(1.0, value=2.1, target=2.0).is_met
    assert not figure(1.0, value=1.9, target=2.0, better="higher").is_met
    assert figure(1.0).is_met is None


def test_sides_are_measured_in_turn_and_the_first_round_of_each_does_not_count() -> None:
    seen: list[str] = []

    def side(name: str, values: list[float]) -> Round:
        def measure() -> float:
            seen.append(name)
            return values.pop(0)

        return measure

    ours, peer, ratios = side_by_side(side("ours", [99.0, 2.0, 6.0, 4.0]), side("peer", [99.0, 1.0, 2.0, 4.0]), 3)

    assert seen == ["ours", "peer"] * 4
    assert (ours, peer, ratios) == (4.0, 2.0, (2.0, 3.0, 1.0))


def test_several_runs_together_keep_every_ratio_and_the_median_of_the_values() -> None:
    (one,) = together([[figure(1.0, 2.0, value=1.0)], [figure(3.0, value=5.0)], [figure(4.0, value=2.0)]])
    assert (one.value, one.ratios) == (2.0, (1.0, 2.0, 3.0, 4.0))
