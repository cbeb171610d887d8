import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.answering.likelihood import MANY
from hive_mind.cognition.answering.question_terms import asked_of
from hive_mind.cognition.answering.relevance import RelevanceSettings, judgement, relevant
from tests.unit.cognition.reading import answer, hit

QUESTION = "Which harbour has deep water?"


def test_a_question_is_sorted_into_identifiers_names_and_words():
    asked = asked_of("When did Tomas clean the strainer of D4?")

    assert (asked.identifiers, asked.names, asked.words) == ({"d4"}, {"toma"}, {"clean", "strainer"})


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("¿Cuándo es la feria?", "La feria es el martes."),
        ("Onde é a feira?", "A feira é no salão azul."),
        ("Quand est la foire ?", "La foire est mardi."),
        ("Dov'è la fiera?", "La fiera è nella sala blu."),
        ("Wanneer is de kermis?", "De kermis is dinsdag."),
        ("Când este târgul?", "Târgul este marți."),
        ("Где будет ярмарка?", "Ярмарка в синем зале."),
        ("Panayır ne zaman?", "Panayır salı günü."),
        ("Πού είναι η γιορτή;", "Η γιορτή είναι στη μπλε αίθουσα."),
        ("متى السوق؟", "السوق يوم الثلاثاء."),
        ("मेला कब है?", "मेला मंगलवार को है।"),
        ("集市什么时候举行？", "集市星期二举行。"),
        ("축제는 언제 열립니까?", "축제는 화요일에 열린다."),
        ("What leaves at quarter to five in the afternoon?", "The coach leaves at 16:45."),
        ("How much does the maintainance of the lift cost?", "The maintenance of the lift costs 700 euros."),
    ],
)
def test_the_words_that_ask_need_not_be_answered_in_any_language(question: str, answer: str):
    assert relevant(question, [hit(answer, keyword=2.0)], RelevanceSettings())
    assert not relevant(question, [hit("The shed is red. Сарай красный. El granero es rojo.", keyword=0.5)], RelevanceSettings())


def test_a_dotted_number_is_an_identifier_and_a_date_is_none():
    assert asked_of("What does rule 44.2170 protect?").identifiers == {"44.2170"}
    assert asked_of("Who was ill on 03.05.2024?").identifiers == frozenset()


def test_a_fact_that_names_the_identifier_speaks_about_it_whatever_else_is_asked():
    found = judgement(asked_of("What colour is the lid of T2?"), hit("T2 made 118 megawatt hours."))

    assert found is not None
    assert (found.is_named, found.share) == (True, 1.0)


def test_an_identifier_alone_answers_nothing():
    assert not relevant("Which vendor built the boiler K2?", [hit("K2 was cleaned.", keyword=9.0)], RelevanceSettings())
    assert relevant("Who built the boiler K2?", [hit("The boiler K2 was built by Ana.", keyword=1.0)], RelevanceSettings())


@pytest.mark.parametrize(
    ("question", "answer", "aside"),
    [
        ("Who is the director of the museum?", "The director of the museum is Ana.", "The museum of Ana stands in Porto."),
        ("Who is the managing director of Elm?", "The director of Elm is Ana Bo.", "Ana Bo came to Elm in May."),
        ("Who is the chief executive of Elm?", "Ana Bo is CEO of Elm.", "Ana Bo logs in to the account at Elm."),
        ("What does a licence of Elm cost?", "A licence of Elm costs 9 euros.", "A berth costs 9 euros in Elm."),
        ("How much does the small table cost?", "The table is 40 euros.", "The small chair is 40 euros."),
        ("What is the price of a key for the cabin?", "A key is 8 euros.", "The cabin is 80 euros."),
        ("What is the director's name?", "The director is Ana.", "Ana wrote the name down."),
        ("Who painted the museum?", "Ana painted the museum.", "The museum was sold by Ana."),
        ("When is Pelican 5 due?", "Pelican 5 is due on 3 May.", "Pelican 4 was due on 3 May."),
    ],
)
def test_who_is_asked_for_by_a_role_a_deed_or_a_number_is_not_anybody(question: str, answer: str, aside: str):
    assert relevant(question, [hit(answer, keyword=9.0)], RelevanceSettings())
    assert not relevant(question, [hit(aside, keyword=9.0)], RelevanceSettings())


@pytest.mark.parametrize(
    ("question", "answer", "aside"),
    [
        ("What is the rent of the new flat?", "The rent of the new flat is 900 euros.", "The new flat has no lift."),
        ("When was lift 2 built?", "Lift 2 was built in 1961.", "Lift 2 stays shut until May."),
        ("Who won the cup in 2024?", "In 2024 Ana won the cup.", "In 2025 Ana won the cup."),
        ("When does the last bus leave?", "The last bus leaves at 23:10.", "The first bus leaves at 4:50."),
        ("Who inspects the lift?", "The inspector of the lift is Mr Adeyemi.", "The lift was sold to Mr Adeyemi."),
        ("Wer ist die Vorsitzende des Vereins?", "Vorsitzende des Vereins ist Frau Seidel.", "Der Verein dankt Frau Seidel."),
        ("Wann wurde das Freibad gebaut?", "Das Freibad wurde 1961 gebaut.", "Das Freibad öffnet am 8. Mai."),
        ("朝食は何時からですか", "朝食は七時半からです。", "大浴場は五時からです。"),
    ],
)
def test_a_fact_on_the_topic_answers_only_with_what_is_asked(question: str, answer: str, aside: str):
    assert relevant(question, [hit(answer, keyword=9.0)], RelevanceSettings())
    assert not relevant(question, [hit(aside, keyword=9.0)], RelevanceSettings())


def test_what_is_meant_alike_may_be_told_in_other_words():
    told = "The boat sets off at nine."

    assert not relevant("When does the boat depart?", [hit(told, keyword=0.5, semantic=0.5)], RelevanceSettings())
    assert relevant("When does the boat depart?", [hit(told, keyword=0.5, semantic=0.8)], RelevanceSettings())


def test_a_title_of_a_file_says_what_its_facts_are_about():
    question, opened = "When does the museum open on Monday?", "It opens on Monday at ten."

    assert relevant(question, [hit(opened, keyword=3.0, sources=("town/museum.html",))], RelevanceSettings())
    assert judgement(asked_of("When does the Louvre open?"), hit(opened, sources=("a.html",))) is None
    assert judgement(asked_of("When does the Louvre open?"), hit(opened, sources=("louvre.html",))) is not None


def test_a_long_identifier_needs_no_other_word():
    licence = hit("Licence MO-1187, granted by the office, valid until 2029.", keyword=9.0)

    assert relevant("Until when is MO-1187 good?", [licence], RelevanceSettings())


def test_the_sentence_before_counts_where_a_fact_refers_to_it():
    question, before = "What does bread cost?", "Fresh bread can be ordered."

    assert relevant(question, [hit("It costs 2 euros.", keyword=3.0, before=before)], RelevanceSettings())
    assert not relevant(question, [hit("A canoe costs 8 euros.", keyword=0.5, before=before)], RelevanceSettings())


def test_rows_are_no_number_of_what_each_of_them_is():
    row = hit("| 4 | Riesling | 3200 |", keyword=9.0, before="| Tank | Wine | Litres |")

    assert relevant("How many litres of Riesling are there?", [row], RelevanceSettings())
    assert not relevant("How many tanks of Riesling are there?", [row], RelevanceSettings())


def test_what_somebody_asks_in_passing_tells_nothing():
    asked = asked_of("Where is there shade?")
    aside = judgement(asked, hit("Ola: Is there shade? Lina burns easily"))
    told = judgement(asked, hit("Ola: Is there shade? Nadia: under the trees"))

    assert (aside and aside.covered, told and told.covered) == (0.0, 1.0)


def test_a_fact_about_another_identifier_or_another_person_does_not():
    assert judgement(asked_of("What is D4?"), hit("D40 drains the tunnel.")) is None
    assert judgement(asked_of("Where does Zoe live?"), hit("Ana lives in Porto.")) is None


def test_the_right_person_and_nothing_of_what_was_asked_is_not_enough():
    found = judgement(asked_of("Which university did Ana attend?"), hit("Ana sold her boat.", keyword=9.0))

    assert found is not None
    assert found.share == 0.0


def test_rare_words_answer_where_common_ones_do_not():
    rare, common = hit("The harbour is deep.", keyword=9.0), hit("There is water.", keyword=2.0)

    assert relevant(QUESTION, [rare], RelevanceSettings())
    assert not relevant(QUESTION, [common], RelevanceSettings())


@pytest.mark.parametrize(
    ("question", "answer", "aside"),
    [
        ("Was kostet eine Laube?", "Eine Gartenlaube kostet 900 Euro.", "Ein Kubikmeter kostet 2,85 Euro."),
        ("Where is the celesta repaired?", "The celesta is repaired at Bakker.", "The celesta is in repair."),
        ("Wo wohnt Tante Renate?", "Tante Renate wohnt in Kiel.", "Wer wohnt? Tante Renate."),
        ("What is the colour of the slate?", "The slate has a dark colour.", "The slate comes from Spain."),
    ],
)
def test_what_is_off_the_topic_or_has_nothing_of_the_type_asked_for_does_not_answer(question: str, answer: str, aside: str):
    assert relevant(question, [hit(answer, keyword=9.0)], RelevanceSettings())
    assert not relevant(question, [hit(aside, keyword=9.0)], RelevanceSettings())


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

    kept = [one.hit for one in relevant(question, hits, RelevanceSettings())]

    assert kept == [one for one in hits if one in kept]


ROWS = [
    hit(row, concept=row.split(",")[0], before="name,port,owner", keyword=0.5)
    for row in ("gateway,8443,Ines", "relay,9001,Marek", "door,8443,Otto")
]


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("Who owns the gateway?", 0),
        ("Which port does the relay use?", 1),
        ("Who owns port 9001?", 1),
        ("Which port has Otto?", 2),
    ],
)
def test_a_row_answers_by_a_field_and_a_column_that_are_asked_for_and_no_other_row_does(question: str, row: int):
    assert [one.hit for one in relevant(question, ROWS, RelevanceSettings())] == [ROWS[row]]


@pytest.mark.parametrize("question", ["What colour is the gateway?", "Who owns the boat?"])
def test_a_row_without_the_field_or_the_column_does_not_answer(question: str):
    assert relevant(question, ROWS, RelevanceSettings()) == []


def test_what_shares_only_the_words_before_it_is_not_quoted_beside_an_answer():
    gateway, library = hit("网关端口是8443。"), hit("图书馆在河边开放。", before="网关端口是8443。")

    assert [one.hit for one in relevant("网关 端口", [gateway, library], RelevanceSettings())] == [gateway]


def test_the_kind_of_the_answer_need_not_be_named():
    pump = hit("The pump in hall 3 is red.", keyword=0.3)

    assert relevant("What colour is the pump in hall 3?", [pump], RelevanceSettings())
    assert not relevant("What colour is the door in hall 3?", [pump], RelevanceSettings())


def test_where_a_figure_is_asked_for_only_a_fact_with_one_of_its_own_can_tell_it():
    red, warm = hit("The pump in hall 3 is red.", keyword=0.3), hit("The pump in hall 3 has 60 degrees.", keyword=0.3)
    question = "What is the temperature of the pump in hall 3?"

    assert not relevant(question, [red], RelevanceSettings())
    assert relevant(question, [warm], RelevanceSettings())


@pytest.mark.parametrize("end", ["?", " go?"])
def test_of_things_with_numbers_the_one_that_is_asked_for_is_meant(end: str):
    buses = [hit(f"Last bus: 00:{line}", concept=f"Line {line} to the harbour", keyword=4.0) for line in (12, 14)]

    assert [judged.hit for judged in relevant(f"When is the last bus of line 14{end}", buses, RelevanceSettings())] == buses[1:]
    assert not relevant(f"When is the last bus of line 15{end}", buses, RelevanceSettings())


def test_how_long_something_is_may_be_said_of_it():
    told = hit("Sie ist 84 Meter lang.", before="Die Brücke wurde 1911 gebaut.", keyword=1.0)

    assert relevant("Wie lang ist die Brücke?", [told], RelevanceSettings())
    assert not relevant("Wie lang ist der Tunnel?", [told], RelevanceSettings())


def test_who_took_it_is_told_without_taking():
    assert known("Who took the minutes?", "Minutes: Mr Tran.")
    assert not known("Who took the notes?", "Minutes: Mr Tran.")


def test_whose_deputy_is_asked_for_is_told_by_nobody_who_has_one():
    master = hit("Ingrid Solheim is the harbour master.", keyword=9.0)

    assert relevant("Who is the harbour master?", [master], RelevanceSettings())
    assert not relevant("Who is the harbour master's deputy?", [master], RelevanceSettings())


def test_a_turn_that_begins_with_her_is_about_whom_the_turn_before_named():
    told = hit("Idris: Her name is Maud Ferris.", speaker="Idris", before="Ines: The inspector of the cable wants to come.")

    found = judgement(asked_of("What is the name of the inspector of the cable?"), told)

    assert found is not None
    assert found.covered > 0.5


def test_a_turn_goes_on_about_the_identifier_that_was_named_before_it():
    asked = asked_of("Why was the old gearbox of T2 whining?")
    gearbox = "The old gearbox has a cracked carrier, that was the whining."

    assert judgement(asked, hit(gearbox, before="T2 is on the quay.")) is not None
    assert judgement(asked, hit(gearbox, before="T3 is on the quay.")) is None
    assert judgement(asked, hit("Nobody got wet.", before="T2 is on the quay.")) is None


def test_a_word_that_the_fact_has_as_a_synonym_is_its_own():
    told = hit("The class comes on Thursday.", keyword=1.0)

    assert relevant("What day do the schoolchildren come?", [told], RelevanceSettings())


def test_what_kind_of_thing_is_asked_for_is_no_name():
    assert asked_of("What is the current IP of the gateway?").names == frozenset()


def known(question: str, text: str) -> bool:
    return answer(question, hit(text, keyword=4.0)).is_known


def test_who_was_not_let_in_is_who_was_refused():
    assert known("Who was not let in at B100?", "door B100: badge 523044 refused, holder Xenia Berg")


def test_the_person_in_charge_is_somebody_who_runs_it():
    assert known("Who is the person in charge of Grey Heron?", "Ana Berg runs Grey Heron.")


def test_what_is_asked_in_a_phrase_is_answered_in_the_same_and_in_another():
    for said in ("Tomas looks after the pumps.", "Tomas is in charge of the pumps.", "Tomas is responsible for the pumps."):
        assert known("Who looks after the pumps?", said), said
    assert known("Who was turned away at the gate?", "Ben Alder was turned away at the gate.")
    assert not answer("Who looks after the pumps?", hit("Tomas sold the pumps.", keyword=4.0), searched=MANY).is_known


def test_where_somebody_sits_is_told_by_a_place():
    assert known("Where does Ana Berg sit?", "They gave Ana Berg a desk in room 1.162.")
    assert not known("Where does Ana Berg sit?", "Ana Berg comes on Wednesdays.")


def test_a_quantity_of_just_what_is_asked_about_needs_no_other_word():
    asked = "How heavy may things be that are put on Grey Heron?"

    assert known(asked, "New limit for Grey Heron: 833 kilos.")
    assert not known(asked, "New limit for Grey Heron: 83 days.")
    assert not known(asked, "New limit for Grey Gull: 833 kilos.")


def test_what_is_done_may_be_told_in_other_words_of_a_whole_name_and_with_all_others():
    asked = "How is a handset paired with Grey Heron?"

    assert known(asked, "Handsets join Grey Heron when you scan the sticker twice.")
    assert not known(asked, "Handsets join Heron when you scan the sticker twice.")
    assert not known(asked, "The pumps of Grey Heron join the mains.")


def test_a_rare_kind_of_thing_tells_what_the_last_word_of_a_question_has():
    asked = "What is the current IP of the control system gateway?"

    assert known(asked, "From now on the gateway is at 10.20.8.17.")
    assert not known(asked, "From now on the camera is at 10.20.8.18.")
    beside = hit("The gateway, and 5 euros.", keyword=4.0)
    assert not answer("What does the control system gateway cost?", beside, searched=MANY).is_known


def test_a_word_of_its_own_may_have_another_form():
    hired = hit("We hire two from Blackstone Diving.", before="Ruth: Do we have divers?", keyword=2.0)

    assert answer("Which company do the divers come from?", hired).is_known
    assert not answer("Which company do the divers come from?", hit("IMR 44.3012: two divers at a time.", keyword=9.0)).is_known


@pytest.mark.parametrize(("asked", "told"), [("1883", "1849"), ("2024", "2023"), ("1602", "1749")])
def test_a_fact_of_another_year_does_not_answer(asked: str, told: str) -> None:
    fact = hit(f"John Rae built the lighthouse in {told}.", keyword=9.0)

    assert relevant(f"Who built the lighthouse in {told}?", [fact], RelevanceSettings())
    assert not relevant(f"Who built the lighthouse in {asked}?", [fact], RelevanceSettings())


def test_the_speaker_is_somebody_where_a_thing_is_theirs() -> None:
    assert relevant(
        "Whose train was late?", [hit("BORIS: My train was late.", speaker="BORIS", keyword=9.0)], RelevanceSettings()
    )
