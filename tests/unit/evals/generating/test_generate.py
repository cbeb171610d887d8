"""A generated corpus is decided by its size and seed, and by nothing else."""

import subprocess
import sys
from collections import Counter
from datetime import datetime
from functools import cache

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Dataset
from hive_mind.evals.datasets.jsonl import write_jsonl
from hive_mind.evals.generating import CATEGORIES, generate
from hive_mind.evals.generating.world import COLOURS, Naming, World, words
from hive_mind.measure.results import holds_any


@cache
def large() -> Dataset:
    return generate(20_000, 100, 1)


def test_the_same_seed_gives_the_same_bytes_in_another_process(tmp_path):
    code = f"""
import pathlib
from hive_mind.evals.datasets.jsonl import write_jsonl
from hive_mind.evals.generating import CATEGORIES, generate
write_jsonl(generate(600, 12, 5), pathlib.Path({str(tmp_path / "there")!r}))
"""
    # Another order of sets, if any decided anything.
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100, env={"PYTHONHASHSEED": "4711"})

    there = b"".join(path.read_bytes() for path in sorted((tmp_path / "there").iterdir()))
    assert there == b"".join(path.read_bytes() for path in write_jsonl(generate(600, 12, 5), tmp_path / "here"))


def test_another_seed_gives_another_corpus():
    one, other = (generate(600, 12, seed).scopes[0] for seed in (5, 6))

    shared = {document.text for document in one.documents} & {document.text for document in other.documents}
    assert len(shared) < 0.1 * len(one.documents)
    asked = {question.text for question in one.questions} & {question.text for question in other.questions}
    assert len(asked) < 0.1 * len(one.questions)


@pytest.mark.parametrize(("turns", "agents"), [(200, 4), (300, 30), (1_001, 100), (4_000, 7)])
def test_it_has_exactly_so_many_turns_and_everybody_speaks(turns, agents):
    (scope,) = generate(turns, agents, 3).scopes

    assert len(scope.documents) == turns
    assert len({document.id for document in scope.documents}) == turns
    assert len({document.speaker for document in scope.documents}) == agents


def test_turns_come_in_sessions_of_a_day_in_the_order_in_which_they_were_said():
    (scope,) = generate(3_000, 30, 3).scopes
    sessions = Counter(document.section for document in scope.documents)
    seen: list[str] = []
    for before, document in zip([None, *scope.documents], scope.documents, strict=False):
        is_new = before is None or before.section != document.section
        if is_new:
            assert document.section not in seen
            seen.append(document.section)
        assert document.before == ("" if is_new else f"{before.speaker}: {before.text}")
        if before is not None and not is_new:
            assert datetime.fromisoformat(before.said_at) <= datetime.fromisoformat(document.said_at)
            assert before.said_at[:10] == document.said_at[:10]

    assert {document.kind for document in scope.documents} == {"chat", "log", "minutes", "ticket"}
    assert len({document.said_at[:7] for document in scope.documents}) > 1
    assert sum(sessions.values()) / len(sessions) > 2


@pytest.mark.parametrize(
    ("turns", "agents", "seed", "told"),
    [
        (100, 4, 1, "200 to 1000000 turns, not 100"),
        (2_000_000, 4, 1, "not 2000000"),
        (300, 31, 1, "300 turns take 4 to 30 agents, not 31"),
        (300, 3, 1, "not 3"),
        (300, 10, -1, "a seed is 0 or more, not -1"),
    ],
)
def test_a_size_that_can_not_be_is_refused_with_what_can(turns, agents, seed, told):
    with pytest.raises(InvalidInput, match=told):
        generate(turns, agents, seed)


def test_no_two_numbers_have_the_same_name():
    names = World(100_000, 1_000, 1).names
    people = [names.person(number) for number in range(40_000)]
    pairs = [*map(names.projects, range(20_000))], [*map(names.hosts, range(20_000))], [*map(names.accounts, range(20_000))]
    numbers = [number for pair in range(9_000) for number in names.incidents(pair, 2024)]

    assert len(set(people)) == len(people)
    assert len(set(numbers)) == len(numbers)
    for drawn in (*pairs, [*map(names.doors, range(20_000))]):
        assert len({name for pair in drawn for name in pair}) == 2 * len(drawn)


def test_of_projects_with_the_same_half_of_a_name_one_is_called_by_it():
    (scope,) = large().scopes
    called: dict[str, set[str]] = {}
    for document in scope.documents:
        _, _, half = document.topic.partition(" ")
        if half and document.topic not in document.text and holds_any(document.text, [half]):
            called.setdefault(half, set()).add(document.topic)

    assert len(called) > 50
    assert [topics for topics in called.values() if len(topics) > 1] == []


def test_the_vocabulary_says_nothing_twice():
    for field, text in vars(words().names).items():
        listed = text.split()
        assert len(listed) == len(set(listed)), field
    for topic in words().people.topics:
        assert len(topic.values) == len(set(topic.values))
    nouns = [attribute.noun for attribute in (*words().projects.attributes, *words().projects.fixed)]
    assert len(nouns) == len(set(nouns))


def test_names_are_shuffled_by_the_seed():
    one, other = (Naming(words().names, World(300, 10, seed).chance("names")) for seed in (1, 2))

    assert [one.person(number) for number in range(5)] != [other.person(number) for number in range(5)]


def test_cost_grows_with_turns_and_not_faster():
    def calls(turns: int) -> int:
        counted = 0

        def count(_frame: object, event: str, _argument: object) -> None:
            nonlocal counted
            counted += event == "call"

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            generate(turns, 100, 2)
        finally:
            sys.setprofile(before)
        return counted

    # Calls and not seconds, so that a busy machine changes nothing. The first warms what is cached.
    _, small, large = calls(1_000), calls(1_000), calls(10_000)

    assert 5 * small < large < 11 * small


def test_a_large_corpus_has_not_more_questions_than_a_person_can_look_through():
    assert large().questions <= 25 * len(CATEGORIES)


@pytest.mark.parametrize(
    "findings",
    [
        [*words().incidents.causes, *words().incidents.fixes, *words().incidents.impacts],
        words().security.responses,
        words().projects.decisions,
        words().projects.milestones,
    ],
    ids=["incidents", "responses", "decisions", "milestones"],
)
def test_a_finding_is_told_by_its_own_words_and_by_no_others(findings):
    for finding in findings:
        told = [said for other in findings for said in other.said if holds_any(said, [finding.answer])]
        assert told == finding.said, finding.answer
        assert not any(holds_any(asked, [finding.answer]) for asked in getattr(finding, "asked", ())), finding.answer


def test_what_is_said_around_the_findings_tells_none_of_them():
    incidents, projects = words().incidents, words().projects
    around = [
        *incidents.looked,
        *incidents.opened,
        *incidents.alarms,
        *incidents.closed,
        *(lead for leads in vars(incidents.leads).values() for lead in leads),
    ]
    around += [*projects.openers, *projects.between, *projects.reactions, *projects.chatter]
    answers = [one.answer for one in (*incidents.causes, *incidents.fixes, *incidents.impacts, *projects.decisions)]

    assert [(text, answer) for text in around for answer in answers if holds_any(text, [answer])] == []


def test_colours_are_no_part_of_any_name():
    names = words().names
    lists = (
        *(names.projects_first, names.projects_second, names.places, names.hosts, names.companies_first),
        *(names.first, names.last),
    )

    assert not set(COLOURS) & {name.casefold() for listed in lists for name in listed.split()}
