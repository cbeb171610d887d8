"""A search does what its configuration says, and says what it did."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from benchmarks.identifiers import identifiers
from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import InvalidInput
from hive_mind.memory import reranking
from hive_mind.retrieval.searching import Candidate, reranked, selected
from hive_mind.retrieval.workspace import beyond_a_memory, ranking_settings
from tests.builders import BagOfWords
from tests.unit.retrieval.collections_of import config, found_in, index_of, shown, write

DOCUMENTS = {
    "api/auth.md": "# API authentication\nAn API request carries a bearer token.",
    "api/limits.md": "# Limits\nSixty requests a minute.",
    "faqs/auth.md": "# Authentication FAQ\nReset the password for API authentication mail.",
    "faqs/copy.md": "# Authentication FAQ\nReset the password for API authentication mail.",
    "notes/long.md": "# Notes\n## One\nA token here.\n## Two\nAnother token there.\n## Three\nA third token.",
}
QUERY = "API authentication token"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, DOCUMENTS)
    return tmp_path


def search(folder: Path, query: str = QUERY, **parts):
    return asyncio.run(found_in(folder, query, **parts))


def test_every_result_says_what_each_arm_gave_it(folder: Path):
    found = search(folder)

    best = found.results[0]
    assert (best.rank, best.chunk_id, best.document, best.heading) == (1, "api/auth.md#0", "api/auth.md", "API authentication")
    assert best.keyword > 0
    assert best.vector is not None
    assert (best.keyword_rank, best.vector_rank) == (1, 1)
    assert best.text == DOCUMENTS["api/auth.md"]
    assert (found.method, found.fusion, found.semantic_weight) == ("hybrid", "linear", 0.6)


def test_scores_fall_and_ties_are_the_same_each_time(folder: Path):
    found = search(folder, deduplicate="none")

    scores = [one.score for one in found.results]
    assert scores == sorted(scores, reverse=True)
    assert shown(found) == shown(search(folder, deduplicate="none"))


def test_what_a_filter_excludes_is_never_scored(folder: Path):
    whole, filtered = search(folder), search(folder, filters={"category": ["api"]})

    assert (whole.scored, whole.filtered_to) == (7, None)
    assert (filtered.scored, filtered.filtered_to) == (2, 2)
    assert set(filtered.documents) <= {"api/auth.md", "api/limits.md"}


def test_by_words_only_what_has_one_of_them_is_scored(folder: Path):
    assert search(folder, "minute", method="keyword").scored == 1
    assert search(folder, "token", method="keyword", filters={"category": ["notes"]}).scored == 3


def test_several_values_of_a_field_are_alternatives_and_several_fields_must_all_fit(folder: Path):
    write(folder, {"api/web.md": "---\nproduct: web\n---\nA token.", "faqs/web.md": "---\nproduct: web\n---\nA token!"})

    assert search(folder, filters={"category": ["api", "notes"]}).filtered_to == 6
    assert search(folder, filters={"category": ["api"], "product": ["web"]}).documents == ("api/web.md",)
    assert search(folder, filters={"category": ["nothing"]}).results == ()


def test_a_filter_on_what_can_not_filter_is_told(folder: Path):
    with pytest.raises(InvalidInput, match="fields that can: category, product"):
        search(folder, filters={"title": ["x"]})


def test_by_meaning_alone_needs_a_model_and_both_arms_do_without_and_say_so(folder: Path):
    async def run(method: str):
        async with index_of(folder, NoEmbedder()) as index:
            return await index.search(QUERY, config(method=method))

    with pytest.raises(InvalidInput, match="needs embeddings"):
        asyncio.run(run("vector"))
    found = asyncio.run(run("hybrid"))
    assert (found.method, found.notes) == ("keyword", ("no embedding model: answered by words alone",))


@pytest.mark.parametrize("method", ["keyword", "vector", "hybrid"])
@pytest.mark.parametrize("fusion", ["linear", "rrf"])
def test_each_method_finds_what_it_should(folder: Path, method: str, fusion: str):
    found = search(folder, method=method, fusion=fusion)

    assert found.method == method
    assert found.results[0].document in ("api/auth.md", "faqs/auth.md", "faqs/copy.md")
    assert (found.results[0].vector is None) == (method == "keyword")


def test_the_same_text_is_shown_once_and_each_document_once_if_asked(folder: Path):
    assert {"faqs/auth.md", "faqs/copy.md"} <= set(search(folder, deduplicate="none").documents)
    once = search(folder)
    assert len({"faqs/auth.md", "faqs/copy.md"} & set(once.documents)) == 1
    assert once.duplicates == 1
    each = search(folder, deduplicate="document")
    assert len(each.results) == len(each.documents) == 4


def test_results_are_top_k_at_most_and_say_why_they_end(folder: Path):
    found = search(folder, top_k=2)

    assert len(found.results) == 2
    assert (found.cut_at, found.why_cut) == (None, "top_k is 2")


def test_a_cliff_ends_the_results_and_is_told(folder: Path):
    found = search(folder, dynamic_k={"enabled": True, "gap_threshold_factor": 1.0})

    assert found.cut_at == len(found.results) < 6
    assert "cliff after result" in found.why_cut
    assert "times the mean gap before" in found.why_cut


def test_dynamic_k_keeps_to_its_bounds(folder: Path):
    assert len(search(folder, dynamic_k={"enabled": True, "gap_threshold_factor": 0.01, "min_results": 4}).results) >= 4
    assert len(search(folder, dynamic_k={"enabled": True, "gap_threshold_factor": 1000.0, "max_results": 3}).results) == 3


@pytest.mark.parametrize("signal", ["rank", "margin", "coverage"])
def test_every_signal_is_told_and_flags_only_above_its_threshold(folder: Path, signal: str):
    detection = {"enabled": True, "signal": signal, "disagreement_threshold": 0.4}
    found = search(folder, "requests for a third token by mail", distraction_detection=detection)

    for one in found.results:
        assert one.disagreement is not None
        assert ("distraction" in one.flags) == (one.disagreement > 0.4)
    assert len({one.disagreement for one in found.results}) > 1


def test_coverage_counts_the_words_of_the_query_that_are_missing(folder: Path):
    found = search(folder, distraction_detection={"enabled": True, "signal": "coverage"}, top_k=20)
    missing = {one.chunk_id: one.disagreement for one in found.results}

    assert missing["api/auth.md#0"] == 0
    assert 0 < missing["faqs/auth.md#0"] < missing["notes/long.md#0"] < 1


def test_flagged_results_are_moved_down_or_taken_out_if_asked(folder: Path):
    detection = {"enabled": True, "signal": "coverage", "disagreement_threshold": 0.5}
    flagged = {one.chunk_id: one for one in search(folder, distraction_detection=detection).results}
    demoted = {one.chunk_id: one for one in search(folder, distraction_detection={**detection, "action": "demote"}).results}
    dropped = search(folder, distraction_detection={**detection, "action": "drop"})

    suspects = {name for name, one in flagged.items() if "distraction" in one.flags}
    assert suspects
    assert all(demoted[name].score == pytest.approx(flagged[name].score / 2) for name in suspects)
    assert suspects & {one.chunk_id for one in dropped.results} == set()
    assert suspects <= set(dropped.dropped)


def test_detection_that_needs_both_arms_says_so_where_there_is_one(folder: Path):
    found = search(folder, method="keyword", distraction_detection={"enabled": True})

    assert "needs a hybrid query" in found.notes[-1]


async def test_a_pure_identifier_is_never_embedded_found_or_not(tmp_path: Path):
    write(tmp_path, {"a.md": "Region D40 holds a well.", "b.md": "Region D4 is empty.", "c.md": "Region D400 is flooded."})

    embedder = BagOfWords()
    async with index_of(tmp_path, embedder) as index:
        found = [await index.search(query, config()) for query in ("D40", "D4", "Tell me about D40", "D99")]
        assert embedder.queries == []
        await index.search("D40", config(retrieval={"keyword_only_identifiers": False}))
        assert embedder.queries == ["D40"]
        d40, d4, told, absent = found
    assert d40.documents == told.documents[:1] == ("a.md",)
    assert d4.documents == ("b.md",)
    assert absent.results == ()
    assert d40.anchors == ("d40",)
    assert "exact" in d40.results[0].flags


@pytest.mark.parametrize("adaptive", ["anchors", "both"])
async def test_the_table_of_002(tmp_path: Path, adaptive: str):
    table = {
        "D40": "Region D40 holds a well.",
        "Tell me about D40": "Region D40 holds a well.",
        "What are the safety requirements?": "Safety requirements: a helmet is worn.",
        "Aboleth": "The aboleth lives in deep water.",
        "30 CFR 75.1725": "30 CFR 75.1725: machinery is kept in safe condition.",
    }
    others = [
        "Region D41 holds a statue. Tell me about region D4.",
        "The kraken lives in deep water.",
        "30 CFR 75.1726: performing work from a raised position.",
    ]
    write(tmp_path, {f"{number}.md": text for number, text in enumerate({*table.values(), *others})})

    async with index_of(tmp_path) as index:
        found = {query: await index.search(query, config(adaptive=adaptive)) for query in table}
    assert {query: one.results[0].text for query, one in found.items()} == table


def test_weights_follow_the_query_if_asked(folder: Path):
    assert search(folder, "Who asked for limits in D40?", adaptive="weights").semantic_weight == 0.5
    assert search(folder, "limits of requests", adaptive="weights").semantic_weight == 0.6


def test_of_a_hundred_identifiers_among_near_misses_the_exact_one_is_first(tmp_path: Path):
    made = identifiers()
    write(tmp_path, {f"{id}.md": text for id, text in made.texts.items()})

    async def run() -> list[str]:
        async with index_of(tmp_path) as index:
            found = [(case, await index.search(case.query, config())) for case in made.cases]
            return [case.query for case, one in found if one.documents[:1] != (f"{case.target}.md",)]

    assert len(made.cases) == 100
    assert len(asyncio.run(run())) <= 2


def test_confirmed_recent_and_trusted_texts_win_over_their_equals(tmp_path: Path):
    write(
        tmp_path,
        {
            "old.md": "---\ndate: 2020-01-01\ntrust: 2\n---\nThe red pump leaks.",
            "new.md": "---\ndate: 2024-01-01\ntrust: 0\n---\nThe red pump leaks!",
        },
    )

    form = {"text": {"date": False}}
    assert search(tmp_path, "red pump", boosts={"recency": 0.3}, **form).documents[0] == "new.md"
    assert search(tmp_path, "red pump", boosts={"trust": 0.3}, **form).documents[0] == "old.md"


def test_boosts_are_bounded(folder: Path):
    boosts = {"trust": 0.3, "recency": 0.3, "confirmations": 0.3}
    assert all(1.0 <= one.boost <= 1.9 for one in search(folder, boosts=boosts).results)


def test_the_speaker_and_what_came_before_are_indexed_unless_they_are_turned_off(tmp_path: Path):
    write(tmp_path, {"t1.md": "---\nspeaker: Noor\ndate: 2023-05-08\nbefore: Did you buy the kayak?\n---\nYes, yesterday."})
    plain = {"speaker": False, "date": False, "neighbours": 0}

    for query in ("Noor", "kayak", "8 May 2023"):
        assert len(search(tmp_path, query, method="keyword").results) == 1
        assert search(tmp_path, query, method="keyword", text=plain).results == ()


def test_the_chunk_before_helps_to_find_the_next_one(folder: Path):
    with_before = search(folder, "here", method="keyword")
    alone = search(folder, "here", method="keyword", text={"neighbours": 0})

    assert [one.chunk_id for one in with_before.results] == ["notes/long.md#0", "notes/long.md#1"]
    assert [one.chunk_id for one in alone.results] == ["notes/long.md#0"]


def test_different_results_are_preferred_if_asked(folder: Path):
    parts = {"deduplicate": "none", "top_k": 2, "diversity": {"enabled": True, "lambda": 0.3}}

    assert {"faqs/auth.md", "faqs/copy.md"} != set(search(folder, "reset password of API authentication", **parts).documents)
    del parts["diversity"]
    assert {"faqs/auth.md", "faqs/copy.md"} == set(search(folder, "reset password of API authentication", **parts).documents)


class Longest:
    """A cross-encoder that prefers long texts."""

    def predict(self, pairs, **_):
        return np.array([len(text) / 1000 for _, text in pairs])


def test_a_second_look_orders_the_best_again(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reranking, "_load", lambda _: Longest())

    found = search(folder, rerank={"model": "longest", "top_n": 4})

    first = found.results[:4]
    assert [len(one.text) for one in first] == sorted((len(one.text) for one in first), reverse=True)
    assert all(("reranked" in one.flags) == (one.rank <= 4) for one in found.results)
    scores = [one.score for one in found.results]
    assert scores == sorted(scores, reverse=True)


def test_a_second_look_that_can_not_be_had_is_one_line_and_changes_nothing(folder: Path):
    found = search(folder, rerank={"model": str(folder / "no-model")})

    assert shown(found) == shown(search(folder))
    assert found.notes[-1].startswith("not reranked:")


def candidate(id: str, score: float, **fields) -> Candidate:
    return Candidate(0, id, score, 1.0, None, 1, None, 0.0, 1.0, **fields)


def test_logits_and_shares_keep_their_order():
    assert reranking._shares([-3.0, 0.5, 4.0]) == sorted(reranking._shares([-3.0, 0.5, 4.0]))
    assert reranking._shares([0.2, 0.9]) == [0.2, 0.9]
    assert reranking._shares([float("nan"), 1e9])[0] < 0.1


def test_who_was_not_looked_at_again_stays_behind():
    found = reranked([candidate("a", 3.0), candidate("b", 2.0), candidate("c", 1.9)], [0.1, 0.2])

    assert [one.id for one in found] == ["b", "a", "c"]
    assert found[1].score >= found[2].score


def test_what_names_the_identifier_is_flagged_and_never_moved():
    exact = Candidate(0, "a", 1.0, 1.0, 0.0, 1, 9, 1.0, 1.0, disagreement=0.9)
    wanted = config(distraction_detection={"enabled": True, "action": "drop"})

    selection = selected([exact, candidate("b", 0.5, disagreement=0.9)], wanted, lambda _: None, lambda _: [])

    assert [one.id for one in selection.chosen] == ["a"]
    assert selection.chosen[0].flags == ("distraction",)


async def test_any_query_gets_an_answer(folder: Path):
    async with index_of(folder) as index:
        for query in ("", "?!", "the of and", "x" * 20_000, "\ud800", "漢字", "a" * 50 + "-1" * 500):
            assert (await index.search(query, config(method="keyword"))).query == query


def test_an_empty_collection_finds_nothing(tmp_path: Path):
    write(tmp_path, {})

    found = search(tmp_path, "anything", filters={"category": ["a"]})

    assert (found.results, found.scored) == ((), 0)


def test_a_configuration_drives_a_memory_as_far_as_it_can_and_says_the_rest():
    plain = config()
    beyond = {"filters": {"category": ["a"]}, "dynamic_k": {"enabled": True}, "diversity": {"enabled": True}}
    rich = config(fusion="rrf", depth=50, top_k=80, **beyond)

    assert beyond_a_memory(plain) == ()
    assert ranking_settings(plain).semantic_weight == 0.6
    assert ranking_settings(plain).evidence_strength == 0.1
    assert (ranking_settings(rich).fusion, ranking_settings(rich).depth) == ("rrf", 80)
    assert [told.split(":")[0] for told in beyond_a_memory(rich)] == ["filters", "dynamic_k", "diversity"]
