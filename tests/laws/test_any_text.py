"""No text raises: each function over text alone, and all of them one after the other, as content and questions meet them."""

import ast
import asyncio
import inspect
import logging
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import combinations, islice, pairwise
from pathlib import Path, PurePath
from pkgutil import walk_packages
from types import ModuleType, UnionType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hive_mind import ornament
from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.answering.question_terms import QuestionTerms, asked_of
from hive_mind.cognition.answering.quoting import QuotingSettings, quotation, quoted_answer
from hive_mind.cognition.answering.relevance import RelevanceSettings
from hive_mind.cognition.answering.tallying import tallied_answer, tally_of
from hive_mind.cognition.extraction.blocks import Block, blocks
from hive_mind.cognition.extraction.sentences import Piece, cut
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.cognition.replies import UnusableReplyError
from hive_mind.errors import HiveError
from hive_mind.hive.trust.contradiction import conflicts, excluding
from hive_mind.hive.trust.wording import wording
from hive_mind.memory.disputes import disputed, with_rivals
from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.gate.promotion import decide
from hive_mind.memory.sharing import statement_of
from hive_mind.model.aggregation import Aggregated, Aggregation
from hive_mind.model.content import Candidate, Content
from hive_mind.model.evidence import Statement
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import Question
from hive_mind.model.query import Hit
from hive_mind.ranking.form import Worded
from hive_mind.ranking.neighbours import Spoken
from hive_mind.ranking.question import Passage
from hive_mind.runtime.replies import hit_reply
from tests.builders import Home, fact
from tests.chance import examples
from tests.sampled import thorough
from tests.texts import DOCUMENTATION, PHRASES, QUESTIONS, TEXTS, YAML, documents, facts_of, hit_of

# Reading, extracting, judging at the gate, ranking, quoting and disputing.
ROOMS = (
    "cognition.answering cognition.iso cognition.temporal cognition.extraction cognition.extractive cognition.replies "
    "memory.gate memory.entities memory.disputes memory.intake memory.asking memory.worth_knowing memory.editions "
    "hive.trust.wording hive.trust.contradiction ranking.tokens ranking.seed ranking.form "
    "ranking.neighbours ranking.question runtime.texts.nested_text runtime.texts.text_files "
    "runtime.replies model.ids model.fact counted"
).split()
# What a text that no reader can use, and a statement that says nothing, are answered with.
REFUSALS = (HiveError, UnusableReplyError)
# These are given patterns, numbers, indexes and results: the way through all of them (`go_through`) meets them with texts.
OF_NO_TEXT = (
    "iso.compiled iso.month_number iso.time_of iso.value_of iso.written_day iso.written_month iso.written_quarter "
    "iso.written_week iso.written_weekend iso.written_year tallying.collected_answer quoting.strong "
    "quoting.chosen quoting.names_only aliases.answering_names asking.aggregated_of "
    "asking.first_of asking.shown_of asking.statistics_of asking.together intake.take_in intake.superseding "
    "editions.timed seed.boosted seed.needs_no_meaning seed.are_codes seed.rrf_merge seed.seed_federated "
    "text_files.read_bytes text_files.read_text text_files.read_document "
    "replies.asked_patiently replies.found_reply replies.refusal "
    "contradiction.before_rows_after contradiction.first_of_each contradiction.fused contradiction.may_exclude "
    "contradiction.newest_first contradiction.row contradiction.vote "
    "fact.fact_of disputes.conflicts_of disputes.disputable disputes.likeliest_first disputes.with_rivals "
    "question.as_asked_once question.expanded editions.edits_of editions.original_of editions.sources_of "
    "likelihood.evidence_of likelihood.likelihoods "
    "tallying.missing_members tallying.needs_tally tallying.tallied_answer "
    "form.joined form.mixed_vector form.seal neighbours.gained question.lent question.naming_all question.ranking_of "
    "question.at_once question.second_probe question.unscored "
).split()
FACTS = st.builds(
    lambda content, concept, speaker, said_at, before, names: fact(
        content, concept=concept, speaker=speaker, said_at=said_at, before=before, entities=tuple(names)
    ),
    TEXTS,
    st.one_of(PHRASES, TEXTS),
    st.sampled_from(["", "Ana", "Ben Okafor", "\ud800", ": "]),
    st.one_of(st.sampled_from(["", "2024-03-05", "2024-03-05T12:30", "2024", "yesterday", "2024-W53"]), st.text(max_size=12)),
    TEXTS,
    st.lists(PHRASES, max_size=3),
)
SAID = st.builds(Candidate, TEXTS, PHRASES, st.floats(0, 1), speaker=PHRASES, before=TEXTS, keeps_lines=st.booleans())
STATEMENTS = FACTS.map(lambda one: statement_of(one, "", None))
GIVEN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.one_of(TEXTS, QUESTIONS),
    bytes: st.one_of(st.binary(max_size=200), TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass"))),
    bool: st.booleans(),
    int: st.integers(1, 10_000),
    float: st.floats(0, 1),
    Path: st.sampled_from([Path(f"notes{suffix}") for suffix in (".md", ".txt", ".html", ".yaml", ".json", ".csv", ".log", "")]),
    PurePath: st.just(PurePath("work")),
    Fact: FACTS,
    Worded: FACTS,
    Spoken: FACTS,
    Passage: FACTS,
    Hit: st.builds(hit_of, FACTS, FACTS),
    Candidate: SAID,
    Statement: STATEMENTS,
    Content: st.builds(Content, TEXTS, PHRASES, said_at=st.sampled_from(["", "2024-03-05", "soon"]), title=TEXTS),
    Question: QUESTIONS.map(Question),
    QuestionTerms: QUESTIONS.map(asked_of),
    Block: TEXTS.map(lambda text: list(blocks(text))).filter(bool).map(lambda found: found[0]),
    Piece: TEXTS.map(lambda text: list(cut(blocks(text), 300, 300))).filter(bool).map(lambda found: found[0]),
    PromotionSettings: st.just(PromotionSettings()),
    QuotingSettings: st.just(QuotingSettings()),
    RelevanceSettings: st.just(RelevanceSettings()),
}
_MANY = {Sequence: list, Iterable: list, Collection: list, Iterator: list, list: list, frozenset: frozenset, tuple: tuple}


def strategy_of(hint: Any) -> st.SearchStrategy[Any] | None:
    """What an argument of this type is given; None where that is nothing of a text."""
    if isinstance(hint, type) and hint in GIVEN:
        return GIVEN[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and ... not in inner:
        each_of = list(map(strategy_of, inner))
        return None if None in each_of else st.tuples(*(one for one in each_of if one is not None))
    if origin in _MANY and (each := strategy_of(inner[0])) is not None:
        return st.lists(each, max_size=4).map(_MANY[origin])
    if origin is UnionType and type(None) in inner:
        return st.one_of(st.none(), *(each for one in inner if (each := strategy_of(one)) is not None))
    return None


def modules() -> Iterator[ModuleType]:
    for room in ROOMS:
        module = import_module(f"hive_mind.{room}")
        yield module
        for found in walk_packages(getattr(module, "__path__", ()), f"{module.__name__}."):
            yield import_module(found.name)


def functions() -> Iterator[Callable[..., Any]]:
    """All public functions of the rooms."""
    for module in modules():
        for name, made in inspect.getmembers(module, callable):
            is_function = inspect.isfunction(made) or hasattr(made, "__wrapped__")
            is_public = is_function and not name.startswith("_") and made.__module__ == module.__name__
            if is_public and not set(hints_of(made).values()) <= {int, float, bool}:
                yield made


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Also where a type is imported for its name alone."""
    return typing.get_type_hints(function, localns=types_left_out(sys.modules[function.__module__]))


@cache
def types_left_out(module: ModuleType) -> dict[str, Any]:
    """Those that it imports only where types are checked."""
    tree = ast.parse(inspect.getsource(module))
    types = {alias.name: node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return {name: getattr(import_module(place), name) for name, place in types.items() if name not in vars(module)}


def arguments_of(function: Callable[..., Any]) -> dict[str, st.SearchStrategy[Any]] | None:
    hints = hints_of(function)
    found = {name: strategy_of(hints[name]) for name in inspect.signature(function).parameters}
    if any(strategy is None for strategy in found.values()):
        return None
    return {name: strategy for name, strategy in found.items() if strategy is not None}


def name_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


TRIED = {name_of(function): function for function in functions() if arguments_of(function) is not None}


def test_every_function_over_text_is_tried():
    untried = {name_of(function) for function in functions()} - set(TRIED)
    assert len(TRIED) > 100
    assert sorted(untried - set(OF_NO_TEXT)) == []


@pytest.mark.parametrize("name", sorted(set(TRIED) - set(OF_NO_TEXT)))
def test_no_text_makes_a_function_raise(name: str):
    function = TRIED[name]
    taken = inspect.signature(function).parameters.values()
    places = [one.name for one in taken if one.kind is not inspect.Parameter.KEYWORD_ONLY]

    # A third of the usual number: it is more than a hundred functions, and the two ways below go through all of them.
    @settings(max_examples=max(8, examples() // 3))
    @given(st.fixed_dictionaries(arguments_of(function) or {}))
    def law(given: dict[str, Any]) -> None:
        by_name = {key: value for key, value in given.items() if key not in places}
        try:
            made = function(*(given[place] for place in places), **by_name)
            if inspect.isgenerator(made):
                list(made)
        except REFUSALS:
            pass

    law()


@given(YAML, PHRASES, QUESTIONS)
@example("emptyDir: {}", "The cache pod uses an emptyDir volume.", "Which volume does the cache pod use?")
@example("api: {}\nvolumes: []\nGateway: ()", "The Gateway is up.", "Gateway")
def test_what_any_yaml_says_is_learned_found_quoted_and_compared(text: str, prose: str, question: str):
    go_through(f"# Volumes\n\n```yaml\n{text}\n```\n\n{prose}\n\n{text}\n", question)


@given(TEXTS, QUESTIONS)
def test_what_any_text_says_is_learned_found_quoted_and_compared(text: str, question: str):
    go_through(text, question)
    go_through(f"{text}\n\n{question}", text)


def go_through(text: str, question: str) -> None:
    """The way of a text: learned, asked about, judged at the gate, compared; as it is learned and as it was stored by hand."""

    async def way() -> list[Hit]:
        async with LearningAgent("ada", Home().memory(), ExtractiveReader()) as agent:
            if text.strip():
                await agent.learn_from_content(Content(text, "ines"))
            if question.strip():
                await agent.answer_question(question)
            facts = await agent.memory.get_all_facts()
            return [*await agent.memory.search_facts(question), *map(hit_of, facts[:20])]

    hits = asyncio.run(way())
    for hit in hits:
        decide(hit.fact, PromotionSettings())
        quotation(hit)
        hit_reply(hit, "ada")
    for one, other in combinations((statement_of(hit.fact, "", None) for hit in hits[:12]), 2):
        assert conflicts(one, other) == conflicts(other, one)
    quoted_answer(Question(question), with_rivals(hits, {}), QuotingSettings())
    disputed(hit.fact for hit in hits)
    for tally in filter(None, map(tally_of, (question, f"how many {question}", "how many facts per month"))):
        tallied_answer(tally, [hit.fact for hit in hits], Aggregated(Aggregation(), len(hits)))


@pytest.mark.data
@pytest.mark.parametrize(("tree", "step"), [(DOCUMENTATION[0], 4), *(thorough(one, 1) for one in DOCUMENTATION)])
def test_the_facts_of_a_documentation_tree_are_compared_quoted_and_judged(tree: str, step: int):
    facts = [found for path, text in islice(documents(tree), 0, None, step) for found in facts_of(text, str(path))]
    assert len(facts) > 1_000
    for found in facts:
        assert wording(found.content) is None or wording(found.content) == wording(found.content, "nobody")
        quotation(hit_of(found))
    disputed(facts)
    for one, other in pairwise(facts):
        excluding(statement_of(one, "", None), [("other", statement_of(other, "", None))])


@pytest.mark.parametrize("text", ["emptyDir: {}", "api: {}", "volumes: []", "Gateway: ()", "a = {}", "是: ", "x :", "Is: "])
def test_a_heading_with_nothing_behind_it_has_neither_subject_nor_predicate(text: str):
    said = wording(text)
    assert said is None or (said.subject, said.predicate, said.is_identity) == (frozenset(), (), False)


def test_an_ornament_that_fails_is_left_out_alone_and_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ornament, "_left_out", inspect.unwrap(ornament._left_out))
    ornament._log_once.cache_clear()

    @ornament.ornament(lambda text: f"{text} as it is")
    def note(text: str) -> str:
        raise KeyError(text)

    @ornament.ornament(lambda _: ())
    async def votes(_: str) -> tuple[str, ...]:
        raise ValueError("a private text")

    with caplog.at_level(logging.WARNING, "hive_mind"):
        assert [note("ferry"), note("pump")] == ["ferry as it is", "pump as it is"]
        assert asyncio.run(votes("x")) == ()  # type: ignore[arg-type]

    assert len(caplog.messages) == 2
    assert not [message for message in caplog.messages if "ferry" in message or "private" in message]
