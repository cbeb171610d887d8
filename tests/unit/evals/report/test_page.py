"""The page says what was measured, what was not, and why; it needs nothing but itself."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hive_mind.drawing import COLOURS
from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments import Arm, Fault
from hive_mind.evals.report import write_report
from hive_mind.evals.scorecard import write_scorecard
from tests.contrast import contrast
from tests.unit.evals.report.invented import ENVIRONMENT, experiment, write_run

ARMS = (
    Arm("single"),
    Arm("flat", 10),
    Arm("federated", 10, 2),
    Arm("sharded", 10),
    Arm("sharded", 100, place="simulator"),
    Arm("sharded", 10, place="redis"),
    Arm("seed-federated", 10, 2),
    Arm("routed", 10, fan_out=3),
    Arm("routed", 10, fan_out=3, deal="session"),
)
VOID = {"meta", "link", "br", "hr", "img", "col"}


class Page(HTMLParser):
    """A page taken apart: whether its elements are closed in order, what it loads, its words by section."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text("utf-8")
        self.open_elements: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: dict[str, str] = {}
        self._section = ""
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        known = {name: value or "" for name, value in attrs}
        self.ids += [known["id"]] if "id" in known else []
        self.links += [known[name] for name in ("href", "src", "xlink:href", "srcset", "action", "data") if name in known]
        assert not [name for name in known if name.startswith("on")], f"{tag} has a script"
        self._section = known["id"] if tag == "section" else self._section
        if tag not in VOID:
            self.open_elements.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open_elements.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words[self._section] = self.words.get(self._section, "") + data + " "


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    wanted = experiment("Letters", arms=ARMS, faults=[Fault(), Fault(down=2), Fault(loss=0.1)], answerer="model")
    folder = write_run(tmp_path_factory.mktemp("run"), wanted, questions=60, failed={"flat": "node 3 <stopped>"})
    with pytest.MonkeyPatch.context() as patched:
        # The page shows no PNG: those are files beside it.
        patched.setattr("hive_mind.evals.report.drawings.as_png", lambda *_: b"")
        return Page(write_report(folder))


def test_it_is_whole_and_has_no_script_no_frame_and_no_address_outside_itself(page):
    assert page.open_elements == []
    assert len(page.ids) == len(set(page.ids))
    assert not {"script", "iframe", "object", "embed", "form", "base", "audio", "video"} & set(page.tags)
    assert [link for link in page.links if not link.startswith(("#", "data:,"))] == []
    assert re.findall(r"url\((?!#)|@import|@font-face", page.source) == []
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_it_tells_what_was_compared_and_that_parity_holds(page):
    told = page.words["summary"]

    assert "Parity holds." in told
    assert "that more than 4.87\N{NARROW NO-BREAK SPACE}% of questions differ is ruled out in each" in told
    assert "Letters (500 documents, 60 questions)" in told
    assert "lists merged by rank" in told


def test_the_first_design_has_its_loss_with_an_interval(page):
    results = " ".join(page.words["results-1"].replace("\N{MINUS SIGN}", "-").split())
    assert re.search(r"lists merged by rank, 10 agents in 2 groups [^a-z]+ to [^a-z]+ to [^a-z]+-0\.\d{3} -0\.\d{3} to", results)


PLACES = ("in process", "processes over Redis", "simulator, virtual time")
SECTIONS = {
    "results-1": (*PLACES, "BM25 alone ", "random ", "full context ", "dealt by session", "multi-hop", "why-decision"),
    "parity": PLACES,
    "cost": (*PLACES, "full context", "$0.018"),
    "failures": ("2 nodes down", "10 % of messages lost"),
}


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_says_what_it_is_about_and_each_row_where_it_ran(page, section):
    words = page.words[section].replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert [said for said in SECTIONS[section] if said not in words] == []


def test_a_failed_cell_is_there_with_its_reason_and_the_summary_leads_to_it(page):
    assert page.words["failed"].count("node 3 <stopped>") == 1
    assert "1 of 16 cells has no figures" in page.words["summary"]
    assert "#failed" in page.links
    assert "flat, 10 agents" not in page.words["results-1"]


def test_what_was_left_out_is_counted_by_reason(page):
    assert "Not asked, because not there or without a question of those asked: Cranfield, <SciFact>." in page.words["left-out"]
    assert "question without evidence 4" in " ".join(page.words["left-out"].split())


@pytest.mark.usefixtures("without_drawings")
def test_what_a_judge_cost_does_not_pass_for_the_price_of_answers(tmp_path):
    folder = write_run(tmp_path / "run", experiment("Letters", arms=(Arm("full-context"),), faults=[Fault()]))

    assert "The model that answered, Letters" in Page(write_report(folder)).words["cost"]
    for report in folder.glob("cells/*/cell.json"):
        report.write_text(report.read_text().replace('"judge":"none"', '"judge":"openai:gpt-5-mini"'))
    write_scorecard(folder)
    assert "The model that answered and judged, Letters" in Page(write_report(folder)).words["cost"]


def test_the_command_that_repeats_it_is_quoted_for_a_shell(page):
    assert "hive-mind eval run 'invented experiment.yaml' --out 'runs/it'\"'\"'s <here>'" in page.words["repeat"]
    assert ENVIRONMENT["cpu"]["model"] in page.words["environment"]


@pytest.mark.usefixtures("without_drawings")
def test_of_several_seeds_it_says_which_one_is_shown(tmp_path):
    wanted = experiment("Letters", arms=(Arm("single"), Arm("sharded", 10)), faults=[Fault()], seeds=(1, 2))
    folder = write_run(tmp_path / "run", wanted)
    for rows in folder.glob("cells/*-s2/*.jsonl"):
        rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:30]))
    for report in folder.glob("cells/*-s2/cell.json"):
        report.write_text(report.read_text().replace('"questions":40', '"questions":30'))
    write_scorecard(folder)

    page = Page(write_report(folder))

    assert "Letters (500 documents, 30 to 40 questions)" in page.words["summary"]
    assert "The largest arm of each kind, of seed 1" in page.words["summary"]
    assert "500 documents, 30 to 40 questions." in page.words["results-1"]
    assert "category questions single, seed 1 sharded, 10 agents, seed 1 BM25 alone, seed 1" in page.words["results-1"]


@pytest.mark.usefixtures("without_drawings")
def test_it_does_not_promise_what_a_language_model_says_twice(tmp_path):
    wanted = experiment("Letters", arms=(Arm("single"),), faults=[Fault()])
    quoted, answered = (
        Page(write_report(write_run(tmp_path / name, replace(wanted, answerer=name)))).words for name in ("quoting", "model")
    )

    assert "times differ with the machine." in quoted["repeat"]
    assert "times differ with the machine, and what a language model says from one time to the next." in answered["repeat"]


def test_hostile_names_stay_words(tmp_path):
    words = "</style></svg><script>alert(1)</script>\" onload='x' $5^2$ ${title} \u202e"
    wanted = experiment("a<b>&\"'", arms=ARMS[:4], faults=[Fault()])

    page = Page(write_report(write_run(tmp_path / "run", wanted, words=words, failed={"flat": words})))

    assert "script" not in page.tags
    assert page.tags.count("style") == 1
    assert "\u202e" not in page.source
    assert "<script>alert(1)</script>" in page.words["results-1"]
    assert page.open_elements == []


@pytest.mark.usefixtures("without_drawings")
def test_a_run_in_which_everything_failed_is_still_a_page(tmp_path):
    failed = dict.fromkeys(("single", "flat", "bm25", "random"), "no room on the disk")
    folder = write_run(tmp_path / "run", experiment("Letters", arms=ARMS[:2], faults=[Fault()]), failed=failed)

    page = Page(write_report(folder))

    assert "No cell has figures." in page.words["summary"]
    assert page.words["failed"].count("no room on the disk") == 4


@pytest.mark.usefixtures("without_drawings")
def test_a_run_that_was_interrupted_says_what_is_not_finished(tmp_path):
    folder = write_run(tmp_path / "run", experiment("Letters", arms=ARMS[:4], faults=[Fault()]))
    next(folder.glob("cells/*sharded*/cell.json")).unlink()
    write_scorecard(folder)

    page = Page(write_report(folder))

    assert "sharded, 10 agents, seed 1" in page.words["failed"]
    assert "unfinished" in page.words["failed"]
    assert "sharded" not in page.words["results-1"]


@pytest.mark.usefixtures("without_drawings")
def test_without_single_nothing_is_said_to_be_equal(tmp_path):
    folder = write_run(tmp_path / "run", experiment("Letters", arms=ARMS[1:4], faults=[Fault()]))

    page = Page(write_report(folder))

    assert "Parity" not in page.words["summary"]
    assert "there is no single to compare with" in page.words["parity"]


@pytest.mark.usefixtures("without_drawings")
def test_a_lost_parity_is_said_with_the_questions_that_differ(tmp_path):
    folder = write_run(tmp_path / "run", experiment("Letters", arms=(Arm("single"), Arm("sharded", 10)), faults=[Fault()]))
    rows = next(folder.glob("cells/*sharded*/rows.jsonl"))
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join([re.sub(r'"facts":\["[0-9a-f]*"', '"facts":["other"', lines[0], count=1), *lines[1:]]))
    (folder / "scorecard.json").unlink()

    with pytest.raises(InvalidInput, match=r"scorecard\.json is not there"):
        write_report(folder)

    write_scorecard(folder)
    page = Page(write_report(folder))

    assert "Parity does not hold." in page.words["summary"]
    assert "97.50" in page.words["parity"]
    # That 3 of 40 differ is ruled out by none that does, and not by one.
    assert "11.32" in page.words["parity"]
    assert "q000" in page.words["parity"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_and_marks_can_be_told_from_their_ground(dark):
    def of(name: str) -> str:
        return COLOURS[name].dark if dark else COLOURS[name].light

    for words in ("text", "faint", "link", "good", "bad"):
        for ground in ("ground", "band"):
            assert contrast(of(words), of(ground)) >= 4.5, f"{words} on {ground}"
    for mark in set(COLOURS) - {"ground", "line", "band"}:
        assert contrast(of(mark), of("ground")) >= 3, mark
