from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.relevance import RelevanceSettings, asked_of, judgement, relevant
from tests.unit.cognition.reading import hit

QUESTION = "Which harbour has the deepest water?"


def test_a_question_is_sorted_into_identifiers_names_and_words():
    asked = asked_of("When did Tomas clean the strainer of D4?")

    assert (asked.identifiers, asked.names, asked.words) == ({"d4"}, {"toma"}, {"clean", "strainer"})


def test_a_dotted_number_is_an_identifier_and_a_date_is_none():
    assert asked_of("What does rule 44.2170 protect?").identifiers == {"44.2170"}
    assert asked_of("Who was ill on 03.05.2024?").identifiers == frozenset()


def test_a_fact_that_names_the_identifier_speaks_about_it_whatever_else_is_asked():
    found = judgement(asked_of("What colour is the lid of T2?"), hit("T2 made 118 megawatt hours."))

    assert found is not None
    assert (found.is_named, found.share) == (True, 1.0)


def test_a_fact_about_another_identifier_or_another_person_does_not():
    assert judgement(asked_of("What is D4?"), hit("D40 drains the tunnel.")) is None
    assert judgement(asked_of("Where does Zoe live?"), hit("Ana lives in Porto.")) is None


def test_the_right_person_and_nothing_of_what_was_asked_is_not_enough():
    found = judgement(asked_of("Which university did Ana attend?"), hit("Ana sold her boat.", keyword=9.0))

    assert found is not None
    assert found.share == 0.0


def test_rare_words_answer_where_common_ones_do_not():
    rare, common = hit("The harbour at Corrin.", keyword=9.0), hit("There is water.", keyword=2.0)

    assert relevant(QUESTION, [rare], RelevanceSettings())
    assert not relevant(QUESTION, [common], RelevanceSettings())


def test_all_words_answer_even_where_a_small_memory_makes_none_of_them_rare():
    assert relevant("When does the ferry leave?", [hit("The ferry leaves at nine.", keyword=0.3)], RelevanceSettings())


@given(st.floats(0, 50), st.floats(0, 50))
def test_a_better_keyword_score_never_makes_a_fact_less_relevant(one: float, other: float):
    low, high = sorted((one, other))
    asked = asked_of(QUESTION)
    weak, strong = (judgement(asked, hit("The harbour at Corrin.", keyword=score)) for score in (low, high))

    assert weak is not None
    assert strong is not None
    assert weak.share <= strong.share <= 1.0


@given(st.text(), st.lists(st.text(min_size=1), max_size=4))
def test_any_text_is_judged_and_the_order_stays(question: str, contents: list[str]):
    hits = [hit(content) for content in dict.fromkeys(contents)]

    kept = [found for found, _ in relevant(question, hits, RelevanceSettings())]

    assert kept == [one for one in hits if one in kept]
