from hive_mind.cognition.answering.quoting import is_repeated
from tests.unit.cognition.reading import answer, hit


def contents(question: str, *hits: object) -> list[str]:
    return [source.fact.content for source in answer(question, *hits).sources]  # type: ignore[arg-type]


def test_the_same_in_nearly_the_same_words_is_quoted_once():
    told = [hit(f"{lead}the limit of the valve {verb} 5 bar.", 1.0, keyword=5.0) for lead, verb in LEADS]

    assert contents("What is the limit of the valve?", *told) == [told[0].fact.content]


LEADS = (("", "is"), ("Reminder: ", "remains at"), ("Data point: ", "is still"))


def test_another_figure_is_another_statement():
    one, other = hit("The limit of the valve is 5 bar.").fact, hit("The limit of the valve is 6 bar.").fact

    assert is_repeated(one, one)
    assert not is_repeated(one, other)


def test_what_adds_to_what_is_asked_comes_before_more_of_the_same():
    same = [
        hit(f"Ana sold the boat to {name}.", 1.0 - n / 100, keyword=9.0) for n, name in enumerate(("Ben", "Cem", "Dan", "Eva"))
    ]
    further = hit("The boat had a mast of oak.", 0.9, keyword=3.0)

    assert further.fact.content in contents("Who sold the boat with the oak mast?", *same, further)[:3]


def test_a_fact_that_answers_comes_before_one_that_only_shares_words():
    aside = hit("Pump D4 was painted on the quay.", 0.9, keyword=5.0)
    answering = hit("Pump D4 was painted by Ana.", 0.8, keyword=5.0)

    assert contents("Who painted pump D4?", aside, answering)[0] == answering.fact.content


def test_what_was_superseded_is_quoted_only_where_the_past_is_asked_about():
    old = hit("The budget was 5,000 EUR.", 1.0, keyword=5.0, superseded_by="newer")
    new = hit("The budget is 6,000 EUR.", 0.9, keyword=5.0)

    assert contents("How much is the budget?", old, new) == [new.fact.content]
    assert not answer("How much is the budget?", old).is_known
    assert old.fact.content in contents("How much was the budget before?", old, new)


def test_a_question_that_nobody_answered_is_no_answer():
    assert not answer("What is the limit of the valve?", hit("Ana: What is the limit of the valve?", speaker="Ana")).is_known


def test_of_several_things_that_are_asked_for_each_is_told():
    budgets = [
        hit(f"The budget of Grey Heron was {sum_} euros.", 1.0 - n / 100) for n, sum_ in enumerate((100, 200, 300, 400, 500))
    ]
    vendor = hit("The vendor of Grey Heron is Tarn Marine.", 0.7)

    assert vendor.fact.content in contents("Tell me the budget, the vendor and the opening of Grey Heron", *budgets, vendor)[:2]


def test_a_speaker_does_what_their_name_means_only_by_chance():
    aside = hit("Lina Mendes: Pump D4-2024 is dark, by the way.", 1.0, keyword=5.0, speaker="Lina Mendes")
    repaired = hit("Repaired. Pump D4-2024 has a new seal.", 0.8, keyword=5.0)

    assert contents("How was D4-2024 repaired?", aside, repaired)[0] == repaired.fact.content


def test_a_fact_that_only_repeats_a_word_of_the_question_is_not_quoted_beside_one_that_answers():
    first = hit("Ana leads the autumn plan for the hall.", 0.95, keyword=9.0)
    less, more = hit("The hall is old.", 0.9, keyword=1.0), hit("The plan of the hall is out.", 0.85, keyword=6.0)
    adding = hit("The mast of the harbour is new.", 0.85, keyword=6.0)

    assert contents("Who leads the autumn plan for the hall?", first, less, more) == [first.fact.content]
    assert adding.fact.content in contents("Who leads the autumn plan for the hall and the mast?", first, adding)


def test_what_says_later_as_much_with_another_figure_of_the_unit_is_quoted_beside_it():
    first = hit("The pressure limit of Wandering Oyster is 6.4 bar.", 1.0, keyword=9.0, said_at="2024-02-20")
    later = hit("The pressure limit of Oyster rose to 6.6 bar.", 0.7, keyword=5.0, said_at="2024-06-01")
    earlier = hit("The pressure limit of Oyster rose to 6.2 bar.", 0.7, keyword=5.0, said_at="2024-01-01")
    of_another_unit = hit("The pressure gauge of Oyster cost 70 euros.", 0.7, keyword=5.0, said_at="2024-06-01")
    question = "At what pressure does the safety device of Wandering Oyster open?"

    assert contents(question, first, later) == [first.fact.content, later.fact.content]
    assert contents(question, first, earlier, of_another_unit) == [first.fact.content]


def test_that_something_is_so_again_is_nothing_that_is_asked_for():
    lines = [f"Rack-{{}} {text}" for text in ("died again.", "hangs in hall two.", "went dark.", "hums.", "got a new fuse.")]
    told = [hit(text.format("7"), 1.0 - number / 100, keyword=5.0) for number, text in enumerate(lines)]

    assert len(contents("What did we do to get rack-7 up again?", *told)) == len(told)
