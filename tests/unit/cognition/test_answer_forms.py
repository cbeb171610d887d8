"""What a fact must hold to answer a question of a kind at all."""

import pytest

from hive_mind.cognition.answer_forms import may_answer


@pytest.mark.parametrize(
    ("question", "answer", "aside"),
    [
        ("What does the van cost?", "It is 89 euros a day.", "The van is long."),
        ("What's the price of a ticket?", "Adults pay $8.", "Tickets are sold at gate 3."),
        ("How tall is the tower?", "It measures 31 metres.", "The tower was opened in 1987."),
        ("What colour is the door?", "The door is dark green.", "The door is 2 m high."),
        ("How old is the lift?", "It was built in 1961.", "Lift 2 is shut."),
        ("How many bolts are left?", "There are 340 of them.", "Bolts are in the shed."),
        ("How many lifts has house 2?", "House 2 has three lifts.", "House 2 has lifts."),
        ("What is the IP address of db-7?", "db-7 is at 10.20.4.30.", "db-7 refused the connection at 02:55:00."),
        ("Who sold the boat?", "Ana sold the boat.", "The boat was sold."),
        ("Who may come in?", "The guard lets everybody in.", "The door is open."),
        ("When does the ferry leave?", "It leaves at nine.", "The ferry is blue."),
        ("When was the pump bought?", "In March 2021.", "The pump stops below 2.8 bar."),
        ("Wann wurde die Pumpe gekauft?", "Am 3. Mai.", "Die Pumpe P14 schaltet ab."),
        ("When was the plugin loaded?", "2026-05-11 02:05:01 INFO loaded a plugin", "INFO loaded a plugin"),
        ("Who is the landlord?", "The landlord is Ana.", "Tell the landlord."),
        ("wer hat den Kessel gebaut?", "Der Kessel ist von Frau Öztürk.", "der kessel ist groß"),
    ],
)
def test_what_lacks_the_form_that_is_asked_for_does_not_answer(question: str, answer: str, aside: str) -> None:
    assert may_answer(question, answer)
    assert not may_answer(question, aside)


@pytest.mark.parametrize("question", ["Why is the door shut?", "What happened to pump D4?", "チェックインは何時からですか?", ""])
def test_other_questions_may_be_answered_by_anything(question: str) -> None:
    assert may_answer(question, "no matter what")
