import asyncio

import pytest

from hive_mind.retrieval.tuning.tuners import PersonTuner, assignments
from tests.unit.retrieval.tuning_world import bench, situation_of, tuned


class Person:
    """Types what was prepared; at its end presses Ctrl-D."""

    def __init__(self, *lines):
        self._lines, self.read = list(lines), []

    async def ask(self, _question):
        if not self._lines:
            raise EOFError
        return self._lines.pop(0)

    def show(self, text):
        self.read.append(text)


def test_a_person_changes_says_why_and_sees_what_came_of_it(tmp_path):
    person = Person('filters.category = ["api"]', "help pages mislead", "retrieval.top_k = 3", "", "")

    found = tuned(bench(tmp_path), PersonTuner(person.ask, person.show))

    assert [step.reason for step in found.steps[1:]] == ["help pages mislead", "retrieval.top_k = 3"]
    assert found.steps[2].config.filters == {"category": ["api"]}
    assert found.verdict.allowed
    assert "faqs (2)" in person.read[0]
    assert "D faqs/a.md (Heading)" in person.read[0]
    assert "better-001: 1.000, 0" in person.read[2]


def test_mistakes_are_told_and_asked_about_again(tmp_path):
    person = Person(
        'filters.category = ["faq"]',
        "retrieval.topk = 3",
        "hello",
        "retrieval.method = vector",
        'filters.category = ["api"]',
        "why",
    )

    found = tuned(bench(tmp_path), PersonTuner(person.ask, person.show))

    told = [line for line in person.read if line.startswith("not possible")]
    assert "did you mean faqs?" in told[0]
    assert "did you mean top_k?" in told[1]
    assert "'hello' is not a change" in told[2]
    assert "needs embeddings" in told[3]
    assert len(found.steps) == 2


def test_an_empty_line_and_the_end_of_input_end_it(tmp_path):
    for person in (Person(""), Person()):
        assert asyncio.run(PersonTuner(person.ask, person.show).propose(situation_of(tmp_path / str(id(person))))) is None


def test_a_change_without_effect_is_measured_and_noted(tmp_path):
    person = Person("dynamic_k.min_results = 3", "to see")

    tuned(bench(tmp_path), PersonTuner(person.ask, person.show))

    assert any("note: dynamic_k.min_results has no effect" in line for line in person.read)


def test_several_changes_stand_in_a_line():
    line = 'retrieval.method = keyword; filters.a = ["x; y", "z"] ;dynamic_k.enabled=true; text.neighbours = null;'

    assert assignments(line) == {
        ("retrieval", "method"): "keyword",
        ("filters", "a"): ["x; y", "z"],
        ("dynamic_k", "enabled"): True,
        ("text", "neighbours"): None,
    }


@pytest.mark.parametrize("line", ["a", "a =", "a = [1", "a = 1 b = 2", ";", "= 3", "a = {", 'a = "x'])
def test_a_line_that_is_no_change_is_refused(line):
    with pytest.raises(ValueError, match=r"."):
        assignments(line)
