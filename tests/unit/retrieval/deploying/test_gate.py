"""The gate and a deployment over the real index, by words alone."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind import backends
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.retrieval import QUESTIONS_MIN
from hive_mind.retrieval.deployment import judge, judge_file
from hive_mind.retrieval.measuring.evaluation import bench_of, evaluate
from hive_mind.retrieval.measuring.verdict import decide
from hive_mind.retrieval.workspace import Workspace
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords
from tests.unit.retrieval.measurements import QUESTIONS, Ranked, bench, config, evaluation

ANSWERS = st.lists(st.tuples(st.text("rsDE.", max_size=4), st.text("rsDE.", max_size=4)), min_size=1, max_size=10)

TOPICS = ("tokens", "limits", "webhooks", "errors", "paging", "uploads", "exports", "audits")
NAIVE = config("naive", retrieval={"method": "keyword"})
FILTERED = config("filtered", retrieval={"method": "keyword"}, filters={"category": ["api"]})


def verdict(*pairs, **more):
    before, after = zip(*pairs, strict=True)
    return decide(evaluation(*before, name="old"), evaluation(*after, name="new", **more))


def kinds(verdict):
    return [one.kind for one in verdict.grounds]


# Pairs of answers before and after, the grounds, and what the verdict says.
RULES = {
    "a gain at every question": (
        [("Dr", "rs")] * 8,
        [],
        ("nUDCG 0.765 after -0.173 (+0.939, 95 % interval +0.939 to +0.939, 8 questions)", "distractors 0 after 8"),
    ),
    "a lower mean, with the questions that lose": (
        [*[("rs", "r")] * 5, ("r", "rs"), ("r", "r")],
        ["lower_nudcg"],
        ("nUDCG is lower", "lost at q1 (-0.30), q2 (-0.30), q3 (-0.30) and 2 more"),
    ),
    "more distractors although the mean rises": (
        [("r", "rstD")] * 8,
        ["more_distractors"],
        ("more distractors are shown: 8 after 0; new at q1 (D), q2 (D), q3 (D) and 5 more",),
    ),
    "a gain that may be luck": (
        [*[("r", "rs")] * 4, *[("rs", "r")] * 3, ("r", "r")],
        ["loss_possible"],
        ("a loss of up to", "label more questions"),
    ),
    "a gain without any loss is no luck": ([*[("r", "rs")] * 2, *[("r", "r")] * 8], [], ()),
    "everything that is wrong at once": ([("rs", "rD")] * 8, ["lower_nudcg", "more_distractors"], ()),
    "one question": (
        [("D", "rst")],
        ["too_few_questions"],
        ("1 held-out question decides nothing; luck alone does as well in 50%",),
    ),
    "four questions, even with a gain at each": (
        [("D", "rst")] * 4,
        ["too_few_questions"],
        ("luck alone does as well in 6% of all cases, and 5% is the limit: label at least 6", "or 5 each of which gains"),
    ),
    "five questions with a gain at each": ([("D", "rst")] * 5, [], ("5 questions)",)),
    "five questions of which one stays": ([*[("D", "rst")] * 4, ("r", "r")], ["too_few_questions"], ("6% of all cases",)),
    "five questions of which one loses": (
        [*[("r", "rs")] * 4, ("rs", "r")],
        ["too_few_questions", "loss_possible"],
        ('take the "split" marks away, so that all questions tune and decide, cross-validated',),
    ),
    "five questions and a tie": ([("rD", "rD")] * 5, ["too_few_questions"], ("100% of all cases",)),
    "a tie, a change without a gain": ([("rD", "rD")] * 8, ["tie"], ("there is nothing to gain",)),
    "a tie with fewer results": ([("rs...", "rs")] * 8, [], ("no question changes, and it takes 16 instead of 40 results",)),
    "gains and losses that cancel out are no tie": ([("r", "rs"), ("rs", "r")] * 4, ["loss_possible"], ()),
}


class TestTheRules:
    @pytest.mark.parametrize(("pairs", "grounds", "says"), RULES.values(), ids=RULES)
    def test_what_moved_decides_and_is_told(self, pairs, grounds, says):
        found = verdict(*pairs)

        assert kinds(found) == grounds
        assert found.allowed == (not grounds)
        assert [one for one in says if one not in found.as_text] == []

    def test_a_first_configuration_is_taken_with_few_questions_and_that_they_say_little_is_told(self):
        few, enough = (decide(None, evaluation(*["rs"] * count)) for count in (QUESTIONS_MIN - 1, QUESTIONS_MIN))

        assert few.allowed
        assert "it is taken because nothing was in use; 5 held-out questions decide nothing: label at least 6" in few.remarks[0]
        assert not any("decide nothing" in one for one in enough.remarks)

    def test_a_tie_that_costs_less_is_let_through_and_one_that_costs_more_of_anything_is_refused(self):
        plain, slow = evaluation(*["r"] * 8), config("new", rerank={"model": "some-cross-encoder"})

        assert verdict(*[("r", "r")] * 8, scored=5).allowed
        assert decide(evaluation(*["r"] * 8, method="hybrid"), plain).allowed
        assert kinds(verdict(*[("r.", "r")] * 8, scored=30)) == ["tie"]
        assert kinds(decide(evaluation(*["r."] * 8), evaluation(*["r"] * 8, of=slow))) == ["tie"]

    def test_the_first_configuration_only_has_to_do_more_good_than_harm(self):
        assert decide(None, evaluation("r", "D", "rs")).allowed
        assert kinds(decide(None, evaluation("D", "E", "r."))) == ["misleads"]

    def test_a_measurement_during_which_the_model_failed_decides_nothing(self):
        before = evaluation(*["D"] * 8, notes=("the embedding model failed: answered by words alone",))

        found = decide(before, evaluation(*["rs"] * 8, name="new"))

        assert kinds(found) == ["unmeasurable"]
        assert "'v1' could not be measured: the embedding model failed" in found.as_text
        assert kinds(decide(None, before)) == ["unmeasurable", "misleads"]

    def test_questions_that_were_tuned_on_are_remarked(self):
        old, new = evaluation(*["D"] * 8), evaluation(*["r"] * 8)

        found = decide(type(old)(old.config, "all", 10, old.rows), type(new)(new.config, "all", 10, new.rows))

        assert found.allowed
        assert 'no question is marked "split": "test"' in found.remarks[0]

    @given(ANSWERS)
    def test_what_is_let_through_is_never_worse_in_any_gated_way_and_could_not_be_replaced_by_the_former(self, pairs):
        found = verdict(*pairs)

        if found.allowed:
            assert not verdict(*[(after, before) for before, after in pairs]).allowed
            assert found.comparison.nudcg.difference.low >= -1e-9
            assert found.comparison.more_distractors <= 0
            assert found.why
        else:
            assert all(one.message for one in found.grounds)

    @settings(deadline=None, max_examples=30)
    @given(ANSWERS, st.randoms())
    def test_the_order_of_the_questions_decides_nothing(self, pairs, chance):
        assert kinds(verdict(*pairs)) == kinds(verdict(*chance.sample(pairs, len(pairs))))


class TestThreeLevels:
    old, new = config("old"), config("new", retrieval={"method": "keyword", "top_k": 5})
    worse_and_better = {"old": "Dr", "new": "rs"}  # noqa: RUF012 - read only

    def judged(self, folder, active, candidate, index=None):
        return asyncio.run(judge(bench(folder, index or Ranked(self.worse_and_better)), active, candidate))

    def test_a_fleet_asks_with_a_workspace_and_two_configurations(self, tmp_path):
        index = Ranked(self.worse_and_better)

        found = self.judged(tmp_path, config("old", retrieval={"method": "keyword"}), self.new, index)

        assert (found.allowed, found.level) == (True, "behavioural")
        # Those for training are not asked.
        assert len(found.comparison.after.rows) == QUESTIONS == len(index.asked) / 2

    def test_what_makes_no_sense_is_refused_before_anything_is_measured(self, tmp_path):
        index = Ranked(self.worse_and_better)

        found = self.judged(tmp_path, None, config("new", filters={"colour": ["red"]}), index)

        assert (found.level, set(kinds(found)), index.asked) == ("semantic", {"invalid"}, [])
        assert "colour" in found.as_text

    def test_what_is_only_odd_is_remarked(self, tmp_path):
        found = self.judged(tmp_path, None, config("new", retrieval={"method": "keyword", "fusion": "rrf"}))

        assert found.allowed
        assert "fusion" in found.remarks[0]

    def test_what_is_in_use_already_is_no_candidate_whatever_it_is_called(self, tmp_path):
        found = self.judged(tmp_path, self.new, self.new.model_copy(update={"name": "other"}))

        assert kinds(found) == ["unchanged"]

    def test_an_active_configuration_that_can_not_be_searched_is_a_ground(self, tmp_path):
        lost = config("old").model_copy(update={"collection": "gone"})

        found = asyncio.run(judge(bench(tmp_path, Lost(self.worse_and_better)), lost, self.new))

        assert (found.level, kinds(found)) == ("behavioural", ["unmeasurable"])
        assert "replace it by force" in found.as_text

    @pytest.mark.parametrize(("said", "changed"), [("E.md", "gone.md"), ('"test"', '"train"')])
    def test_a_golden_set_that_names_what_is_not_there_or_is_for_training_alone_decides_nothing(self, tmp_path, said, changed):
        place = bench(tmp_path, Ranked(self.worse_and_better))
        golden = place.workspace.golden_file
        golden.write_text(golden.read_text().replace(said, changed))

        found = asyncio.run(judge(place, None, self.new))

        assert (found.allowed, "invalid" in kinds(found)) == (False, True)
        assert changed == '"train"' or (found.level == "semantic" and "evals/golden.json:" in found.as_text)

    @pytest.mark.parametrize(
        ("text", "level"),
        [('{"name": "new", "colection": "kb"}', "syntactic"), ('{"name": "new", "collection": "gone"}', "semantic")],
    )
    def test_a_file_is_looked_at_from_its_form_on(self, tmp_path, text, level):
        place = bench(tmp_path, Ranked({}), self.new)
        place.workspace.config_file("new").write_text(text)

        _, found = asyncio.run(judge_file(place, None, "new"))

        assert (found.level, set(kinds(found))) == (level, {"invalid"})
        assert found.as_text.startswith("new.json:1: ")

    def test_a_name_that_no_file_has_is_told(self, tmp_path):
        with pytest.raises(InvalidInput, match="there is no gone in configs/"):
            asyncio.run(judge_file(bench(tmp_path, Ranked({})), None, "gone"))


class Lost(Ranked):
    """Only the candidate's collection is there."""

    async def search(self, query, config):
        if config.collection == "gone":
            raise InvalidInput("there is no collection gone")
        return await super().search(query, config)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Every topic has a document that explains it and a FAQ that only says the word more often."""
    files = {"collections/kb.json": '{"name": "kb", "filterable_fields": ["category"]}'}
    for topic in TOPICS:
        files[f"documents/api/{topic}.md"] = f"# Using {topic}\n\nHow the service deals with {topic}, with an example.\n"
        files[f"documents/faqs/{topic}.md"] = f"# {topic}\n\n{topic}? Ask about {topic} at the desk.\n"
    queries = [
        {"query": f"How do {topic} work?", "relevant": [f"api/{topic}.md"], "distractors": [f"faqs/{topic}.md"], "split": "test"}
        for topic in TOPICS
    ]
    files["evals/golden.json"] = json.dumps({"queries": queries})
    files |= {f"configs/{one.name}.json": one.model_dump_json(by_alias=True) for one in (NAIVE, FILTERED)}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Workspace.open(tmp_path)


def measured(workspace, work):
    """What some work on a bench over the real index comes to."""

    async def run():
        embedder = await backends.load("embed", "none").open()
        return await work(bench_of(workspace, Settings(embed="none"), embedder))

    return asyncio.run(run())


def test_a_filter_that_keeps_distractors_out_is_let_through(workspace):
    found = measured(workspace, lambda bench: judge(bench, NAIVE, FILTERED))

    assert found.allowed
    assert (found.comparison.before.distractors, found.comparison.after.distractors) == (8, 0)
    assert found.comparison.nudcg.after == 1.0


def test_what_needs_a_cross_encoder_that_can_not_be_had_is_not_let_through_by_what_words_find(workspace):
    reranked = config(**FILTERED.model_dump(by_alias=True) | {"rerank": {"model": str(workspace.root / "no-model")}})

    found = measured(workspace, lambda bench: judge(bench, NAIVE, reranked))

    assert [one.kind for one in found.grounds] == ["unmeasurable"]
    assert found.as_text.startswith("'filtered' could not be measured: not reranked: ")
    assert found.remarks == ()


def test_what_needs_embeddings_that_were_not_made_is_not_let_through_by_what_words_find(workspace):
    class Overloaded(BagOfWords):
        async def embed_passages(self, _texts):
            raise BackendUnavailable("openai", "too many requests; try again later")

    hybrid = config(**FILTERED.model_dump(by_alias=True) | {"retrieval": {"method": "hybrid"}})

    found = asyncio.run(judge(bench_of(workspace, Settings(ann="exact"), Overloaded()), NAIVE, hybrid))

    assert [one.kind for one in found.grounds] == ["unmeasurable"]
    assert found.as_text.startswith("'filtered' could not be measured: 16 chunks have no embedding")


def test_it_is_measured_on_the_documents_as_they_are_now(workspace):
    measured(workspace, lambda bench: judge(bench, None, FILTERED))
    for path in (workspace.root / "documents/api").iterdir():
        path.write_text("# Moved\n\nThis page is empty now.\n")

    assert measured(workspace, lambda bench: judge(bench, None, FILTERED)).candidate.nudcg == 0.0


def test_measuring_twice_gives_the_same(workspace):
    async def twice(bench):
        async with bench.open("kb") as index:
            return [await evaluate(index, NAIVE, workspace.golden()) for _ in range(2)]

    first, second = measured(workspace, twice)

    assert first == second
    assert first.estimate("nudcg") == second.estimate("nudcg")
