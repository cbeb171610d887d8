"""What is told of the other one of a pair does not answer, and what is told of all of them does."""

import pytest

from hive_mind.cognition.answering.counterparts import is_of_another, lacks_half
from tests.builders import fact
from tests.unit.cognition.reading import hit


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("The upper lock holds 900 tons of water.", "How much water does the lower lock hold?"),
        ("The test account is owned by Lea.", "Who owns the live account?"),
        ("The eastern gate opens at 8.", "When does the western gate open?"),
        ("Staging runs on d7. The staging queue holds 500 messages.", "How many messages does the production queue hold?"),
        ("The input buffer is 64 KB.", "How large is the output buffer?"),
        ("The first blue pump runs at 3 bar.", "At what pressure does the second blue pump run?"),
        ("Die neue Pumpe läuft mit 3 bar.", "Mit wie viel bar läuft die alte Pumpe?"),
        ("Die Heizung im Haus Nord läuft mit Gas.", "Womit läuft die Heizung im Haus Süd?"),
        ("El puente norte se pintó en 2018.", "¿Cuándo se pintó el puente sur?"),
        ("The database in staging runs on host d7.", "On which host does the database in production run?"),
        ("The pump on the left runs at 3 bar.", "At what pressure does the pump on the right run?"),
        ("Pump A runs at 3 bar.", "At what pressure does pump B run?"),
        ("The day crew has 9 people.", "How many people has the night crew?"),
        ("The long way takes 4 hours.", "How long does the short way take?"),
        ("The spring fair brought 2,100 visitors.", "How many visitors did the autumn fair bring?"),
        ("The library card is described in the yearbook.", "Which parking card does the yearbook describe?"),
        ("Ward 3 has 20 beds.", "How many beds does ward 4 have?"),
        ("The keeper of tower b is Ivo.", "Who is the keeper of tower d?"),
        ("The keeper of tower b is Ivo.", "Who is the keeper of tower a?"),
        ("Tower a is kept by Ivo.", "Who keeps tower b?"),
    ],
)
def test_a_fact_about_another_one_of_the_kind_is_told_apart(content: str, question: str):
    assert is_of_another(question, fact(content))


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("The upper lock holds 900 tons of water.", "How much water does the upper lock hold?"),
        ("The production database, unlike the staging database, runs on d9.", "Where does the production database run?"),
        ("The old bridge carries 5 tons, the new one 12.", "How many tons does the new bridge carry?"),
        ("The crane in the south stands at pier 9.", "At which pier does the south crane stand?"),
        ("Each floor has 12 desks.", "How many desks does the first floor have?"),
        ("The gateway listens on port 9443.", "Which port does the main gateway listen on?"),
        ("The old stone bridge was built in 1870.", "When was the stone bridge built?"),
        ("Das Dach der Schule entstand 1990.", "Wann wurde das Dach der Schule gebaut?"),
        ("El puente norte se pintó en 2018.", "¿Cuándo se pintó el puente norte?"),
        ("Tickets cost 5 euros.", "What does the ferry cost?"),
        ("In summer the ticket costs 5 euros.", "What does the ferry cost in summer?"),
        ("The gateway listens on port 9443.", "Is the port 8443?"),
        ("It has caught up when the lag is below 30 seconds.", "How long does the feeder need to catch up?"),
        ("Catholics killed thousands of Huguenots.", "Which group killed thousands of Huguenots?"),
        ("The mill on the lake is old.", "What is on the menu?"),
        ("The keeper of tower d is Ivo.", "Who is the keeper of tower d?"),
        ("Tower a and b are kept by Ivo.", "Who keeps tower b?"),
        ("Who keeps it is a secret of the tower.", "Who keeps tower b?"),
        ("Lisa's plan b failed.", "Is plan b what Lisa's team wants?"),
        ("La torre y el faro son de Ivo.", "¿De quién es la torre a?"),
    ],
)
def test_other_facts_are_not(content: str, question: str):
    assert not is_of_another(question, fact(content))


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("The fair starts at 10:00.", "When does the fair end?"),
        ("The shop opens at 8:00.", "When does the shop close?"),
        ("Trains leave from platform 3.", "From which platform do trains arrive?"),
        ("The north door is locked at 22:00.", "When is the north door unlocked?"),
        ("Check-in is from 15:00.", "When is check-out?"),
        ("The import runs at 3:00.", "When does the export run?"),
        ("The minimum is 3.", "What is the maximum?"),
        ("Ida Berg was born in 1931.", "When did Ida Berg die?"),
        ("Die Messe beginnt um 10 Uhr.", "Wann endet die Messe?"),
        ("Der Laden öffnet um 8 Uhr.", "Wann schließt der Laden?"),
        ("La foire commence à 10 h.", "Quand finit la foire ?"),
        ("La tienda abre a las 8.", "¿Cuándo cierra la tienda?"),
        ("De beurs begint om 10 uur.", "Hoe laat eindigt de beurs?"),
        ("Il negozio apre alle 8.", "A che ora chiude il negozio?"),
        ("Ярмарка начинается в 10 часов.", "Когда заканчивается ярмарка?"),
        ("Targi zaczynają się o 10.", "O której kończą się targi?"),
        ("展会十点开始。", "展会几点结束？"),
        ("展示会は10時に始まります。", "展示会は何時に終わりますか？"),
        ("회의는 10시에 시작합니다.", "회의는 몇 시에 끝나요?"),
    ],
)
def test_a_fact_about_the_deed_that_undoes_it_is_of_another(content: str, question: str):
    assert is_of_another(question, fact(content))


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("The shop is open until 18:00.", "When does the shop close?"),
        ("The shop opens from 8 to 18.", "When does the shop close?"),
        ("The shop opens at 8 and closes at 18.", "When does the shop close?"),
        ("The fair starts at 10 and lasts two hours.", "When does the fair end?"),
        ("The tour starts at the end of the pier.", "Where does the tour start?"),
        ("Weekends are free.", "When does the fair start?"),
        ("The shop opens at 8:00.", "Is the shop closed?"),
        ("Die Garage ist geöffnet.", "Ist die Garage geschlossen?"),
        ("Le magasin est ouvert.", "Est-ce que le magasin est fermé ?"),
        ("The warehouse closes at 4 pm.", "Until when is the warehouse open?"),
        ("Der Laden ist bis 18 Uhr geöffnet.", "Wann schließt der Laden?"),
        ("La tienda abre en abril.", "¿En qué fecha abre la tienda?"),
        ("Die Termine beginnen im Mai.", "Wann sind die Termine?"),
        ("店は8時から18時まで開いています。", "店は何時に閉まりますか？"),
    ],
)
def test_a_span_tells_both_ends_and_other_words_no_deed(content: str, question: str):
    assert not is_of_another(question, fact(content))


def test_what_it_stands_under_says_which_one_it_is():
    content, question = "The main queue holds 500 messages.", "How many messages does the production queue hold?"
    assert is_of_another(question, fact(content))
    assert not is_of_another(question, fact(content, concept="Production"))
    assert not is_of_another(question, fact(content, before="Production:"))
    # A sentence before it is about something else.
    assert is_of_another(question, fact(content, before="The production line was sold."))


@pytest.mark.parametrize(
    ("question", "content", "is_lacking", "with_figures"),
    [
        ("Hoeveel betaalt een gezin?", "De prijs is 25 per gezin.", False, True),
        ("¿Cuántos socios vinieron?", "Acuden nueve socios.", False, True),
        ("Quanto è profonda la piscina?", "La piscina apre alle 9.", False, True),
        ("Quanto costa la piscina?", "La piscina apre alle 9.", True, True),
        ("Quanti soci ha il club?", "Il club ha 40 soci.", False, False),
        ("How deep is the pool?", "The pool opens at nine.", False, False),
    ],
)
def test_one_of_two_words_may_be_left_unsaid_of_a_figure_unless_all_depends_on_it(
    question: str, content: str, *, is_lacking: bool, with_figures: bool
):
    hits = [hit(content)]
    assert (lacks_half(question, hits), lacks_half(question, hits, with_figures=True)) == (is_lacking, with_figures)
