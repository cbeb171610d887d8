"""What a fact must hold to answer a question of a kind at all."""

import pytest

from hive_mind.cognition.answering.answer_forms import holds_distinctive, may_answer


@pytest.mark.parametrize(
    ("question", "answer", "aside"),
    [
        ("What does the van cost?", "It is 89 euros a day.", "The van is long."),
        ("What's the price of a ticket?", "Adults pay $8.", "Tickets are sold at gate 3."),
        ("Was kostet der Eintritt?", "Der Eintritt kostet sechs Euro.", "Der Eintritt ist um sechs Uhr."),
        ("Was kostet das Rad?", "Es kostet zwanzig Euro.", "Es hat zwanzig Gänge."),
        ("How tall is the tower?", "It measures 31 metres.", "The tower was opened in 1987."),
        ("What colour is the door?", "The door is dark green.", "The door is 2 m high."),
        ("How old is the lift?", "It was built in 1961.", "Lift 2 is shut."),
        ("How old is the barn?", "It is nearly forty.", "The slate has a guarantee of 75 years."),
        ("How old is the bell?", "It is three hundred years old.", "Take away the old ropes too."),
        ("Wie alt ist die Glocke?", "Sie wurde 1820 gegossen.", "Die alte Glocke ist weg."),
        ("How thick is the wall?", "It is 40 cm.", "It is a thick wall."),
        ("Wie dick ist die Wand?", "Sie hat 40 cm.", "Es ist eine dicke Wand."),
        ("How long is the meeting?", "It takes an hour.", "It moves to 9:15 from next week."),
        ("How many bolts are left?", "There are 340 of them.", "Bolts are in the shed."),
        ("How many lifts has house 2?", "House 2 has three lifts.", "House 2 has lifts."),
        ("What is the IP address of db-7?", "db-7 is at 10.20.4.30.", "db-7 refused the connection at 02:55:00."),
        ("Who sold the boat?", "Ana sold the boat.", "The boat was sold."),
        ("Who may come in?", "The guard lets everybody in.", "The door is open."),
        ("Who may come in?", "It is open to anyone with a key.", "It is open with a key."),
        ("When does the ferry leave?", "It leaves at nine.", "The ferry is blue."),
        ("When was the pump bought?", "In March 2021.", "The pump stops below 2.8 bar."),
        ("When was plover 5.2 released?", "On 24.12.2031.", "plover 5.2.0 and 5.3.1 need Python 3."),
        ("Which exception is raised for a frozen plover?", "It is FrozenError.", "Exceptions are raised."),
        ("Which environment variable has the token?", "It is in PLOVER_TOKEN.", "A variable has the token."),
        ("Wann wurde die Pumpe gekauft?", "Am 3. Mai.", "Die Pumpe P14 schaltet ab."),
        ("Wann öffnet die Werkstatt?", "Sie öffnet um sieben Uhr.", "Sie ist offen."),
        ("Wann ist Pause?", "Pause ist mittags.", "Die Pause ist kurz."),
        ("When was the plugin loaded?", "2026-05-11 02:05:01 INFO loaded a plugin", "INFO loaded a plugin"),
        ("Who is the landlord?", "The landlord is Ana.", "Tell the landlord."),
        ("How long is the shift?", "The shift is eight hours.", "The shift begins with 3 guards."),
        ("How much is a bolt?", "A bolt is 2 euros.", "There are 340 bolts."),
        ("How many bees are there?", "There are 9 bees.", "Bees came on 9 May."),
        ("How many lines has the file?", "The file has 80 lines.", "The error is in line 80 of the file."),
        ("How heavy is the piano?", "It is 200 kg.", "It is 200 years old."),
        ("How warm is the room?", "It has 21 degrees.", "It has 21 chairs."),
        ("How large is the file?", "It has 40 MB.", "It was read 40 times."),
        ("How often does it send?", "It sends every 15 minutes.", "The cell lasts 18 months."),
        ("Wie oft sendet er?", "Er sendet alle 3 Tage.", "Er ist 3 Tage alt."),
        ("How large was the skew?", "The skew was 2.4 s.", "The skew was found by Ana."),
        ("How large is the harvest?", "A harvest of 9 kg.", "A harvest of beans."),
        ("How much is the tax?", "Tax 7 % 21.69", "Tax 7 %"),
        ("Where is the workshop?", "Workshop, Ida Sato, room 12", "Workshop, Ida Sato"),
        ("Where did Ida study?", "BSc, University of Porto", "BSc, with honours"),
        ("Who is the owner?", "Dele, you are the owner.", "There is an owner."),
        ("At which temperature is it baked?", "Baked at 190 °C.", "Baked for 55 min."),
        ("Сколько стоил сарай?", "Сарай стоил 640 рублей.", "Сарай продали."),
        ("How often is it checked?", "It is checked every week.", "It was checked by Ana."),
        ("How deep is the pool?", "It is 3 m deep.", "It is 50 m long."),
        ("What is the buyer called?", "The buyer is called Ana.", "the buyer comes on the 17th."),
        ("Wie heißt der Bruder?", "Der Bruder heißt Anton.", "Mein Bruder schläft auf dem Sofa."),
        ("What is the code of the door?", "The code of the door is 47-11.", "The code of the door is sent to you."),
        ("What is the password of the PC?", "The password of the PC is: sesame", "Ask Ana for the password of the PC."),
        ("Who is the landlord?", "who is the landlord? Bo: Ana", "did you tell the landlord? Bo: yes."),
        ("How much is the deposit?", "A deposit of GBP 1,450 is paid.", "The deposit comes back in 21 days."),
        ("When does the trial start?", "The trial is to start 1 Aug", "The trial starts in the hall."),
        ("When is the hall open?", "Thu: 12-20", "The hall is open to all."),
        ("Wie hoch ist die Brücke?", "Sie ist 31 m hoch.", "Sie wurde 1911 gebaut."),
        ("How many grinders are left?", "Angle grinder ........ 2 (shelf C1)", "The grinders have 3 speeds."),
        ("Where are the goggles?", "Safety goggles: 31, drawer 5", "Safety goggles: 31"),
        ("How long may a key be?", "Keys are at most 511 bytes.", "Keys are green."),
        ("How long may the name be?", "name VARCHAR(60)", "name TEXT"),
        ("How far is the light seen?", "It is seen for 21 nautical miles.", "It is seen by 21 ships."),
        ("Where is the cache?", "The cache moved to ~/.cache/heron.", "The cache was moved."),
        ("What is the monthly fee?", "The monthly fee is 40 euros.", "4.3 The credit is 2 % of the monthly fee, at most 30 %."),
        ("What did the compost cost?", "Bought 40 l of compost for 9.90.", "Bought 40 l of compost, release 9.90.1."),
        ("När lagas bryggan?", "Bryggan lagas i maj.", "Bryggan lagas av Nordträ."),
        ("Quem não paga?", "As crianças não pagam.", "O cartão não é pago."),
        ("How long may lines be?", "line-length = 110", "The lines are green."),
        ("How many boats may moor?", "Most boats that may moor, defaults to 12.", "Boats may moor at 12."),
        ("Since when does it lock?", "It locks since version 2.5.", "It locks with version."),
        ("Which Python versions does it need?", "It needs Python 3.10 and above.", "It needs Python."),
        ("How many rows were read?", "job=read finished rows=1804", "rows were read within 30 s"),
        ("Wie tief ist das Becken?", "Es ist 3 Meter tief.", "Es ist 50 Meter lang."),
        ("Welche Farbe hat das Boot?", "Das Boot ist grün.", "Das Boot ist neu."),
        ("How long is the new oar?", "The oar is six feet of ash.", "The oar is of ash."),
        ("How long is the play?", "The play: 2h15.", "The play is by Ibsen."),
        ("How long is the walk?", "The walk is 9 mi.", "The walk is steep."),
        ("How long is a break in minutes?", "break_minutes: 20", "break: paid"),
        ("How large is the bail?", "The bail is three months of rent.", "The bail is paid by Una."),
        ("How big is the gap?", "gap = 4", "gap = none"),
        ("How fast is the tape?", "The tape reads 40 MB/s.", "The tape reads slowly."),
        ("How often is the probe read?", "probe_interval = 30", "The probe is read."),
        ("How many litres does the can hold?", "The can holds 12 l.", "The can holds milk."),
        ("Who opened the ticket?", "Opened by @heron.", "Opened in error."),
        ("What is the name of the queue?", "queueName: jobs-low", "The queue is long."),
        ("Where are drafts written?", "drafts (default: ./drafts)", "drafts are written daily"),
        (
            "Where does the bell go?",
            "Ada: It goes to the chapel, right? Ben: Yes, they fetch it.",
            "Ada: It goes, right? Ben: Yes.",
        ),
        ("Wer ist der Wirt?", "Der Wirt ist Herr Kuhn.", "Der Wirt hat ein Boot mit zwei Segeln."),
        ("wer hat den Kessel gebaut?", "Der Kessel ist von Frau Öztürk.", "der kessel ist groß"),
    ],
)
def test_what_lacks_the_form_that_is_asked_for_does_not_answer(question: str, answer: str, aside: str) -> None:
    assert may_answer(question, answer)
    assert not may_answer(question, aside)


def test_a_field_of_a_row_counts_without_saying_what() -> None:
    assert may_answer("How many bolts are left?", "bolt,A12,340", is_row=True)
    assert may_answer("How many bolts are left?", "The usual stock is 340.", titles="FAQ: How many bolts are there?")
    assert not may_answer("How many bolts are left?", "The usual stock is 340.", titles="FAQ: Where are the bolts?")
    assert not may_answer("How many bolts are left?", "bolt,A12,340")


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        ("How heavy is the band saw?", "tool;weight kg;bought"),
        ("How often is the band saw checked?", "tool;interval;bought"),
        ("Where is the band saw?", "tool;shelf;bought"),
        ("Wo ist die Bandsäge?", "Gerät;Regal;Jahr"),
    ],
)
def test_a_bare_field_answers_where_a_column_is_called_so(question: str, titles: str) -> None:
    assert may_answer(question, "band saw;23;2019", is_row=True, titles=titles)
    assert not may_answer(question, "band saw;23;2019", is_row=True, titles="tool;maker;bought")


def test_a_figure_in_a_row_is_a_price_where_a_column_is_called_so() -> None:
    row, question = "Lindqvist AB,winch handle,41.00", "How much does a winch handle cost?"

    assert may_answer(question, row, is_row=True, titles='name,product,"price, EUR"')
    assert not may_answer(question, row, is_row=True, titles="name,product,length")
    assert not may_answer(question, "Lindqvist AB,winch handle,on demand", is_row=True, titles='name,product,"price, EUR"')


@pytest.mark.parametrize("question", ["Why is the door shut?", "What happened to pump D4?", "ペットは泊まれますか?", ""])
def test_other_questions_may_be_answered_by_anything(question: str) -> None:
    assert may_answer(question, "no matter what")


@pytest.mark.parametrize(
    ("question", "text", "may"),
    [
        ("How heavy is the engine?", "The engine draws 261 kilowatts.", False),
        ("How heavy is the engine?", "The engine: 261 kilos.", True),
        ("How many staff does the bakery have?", "The bakery has 13 people on its list.", True),
        ("How large is the team?", "16 people is the new headcount.", True),
        ("What is the headcount of the team?", "We should take a picture of the team.", False),
        ("Where does Ana sit?", "Ana comes on Wednesdays.", False),
        ("What is the incident number for the loss of the pump?", "The pump stopped, I opened INC-2024-8276.", True),
        ("What is the incident number for the loss of the pump?", "The pump stopped.", False),
        ("From which address did somebody guess the password?", "failed password from 10.75.16.122", True),
        # The key of a setting tells that its figure is a time.
        ("How long may a job run?", "JOB_TIMEOUT=900", True),
        ("How long does the lock last?", "lockDurationMs: 2500,", True),
        ("How long does the lock last?", "lock_count: 2500", False),
        # What is counted may have words in front of it, and people are people.
        ("How many steam engines are there?", "The shed holds four old engines.", True),
        ("How many steam engines are there?", "The shed is four years old.", False),
        ("How many employees does the dairy have?", "The dairy employs nine people.", True),
        # A span of time is no amount of anything else.
        ("How much flour goes in?", "Stir in the flour and wait 15 minutes.", False),
        ("How much flour goes in?", "350 g rye flour", True),
        ("How much longer does it take?", "It takes 15 minutes more.", True),
        ("How much is the deposit?", "The deposit is two months' rent.", False),
        ("How much is the deposit?", "The deposit is 900 euros, due after two months.", True),
        # Lists name places, and logs people, without a word for it.
        ("Where was the apprenticeship?", "2009 Apprenticeship, Siemens, Erlangen", True),
        ("Where was the apprenticeship?", "2009 Apprenticeship as a joiner", False),
        ("Who restarted the queue?", "2026-05-03 queue restarted by okoye", True),
        ("Who restarted the queue?", "2026-05-03 queue restarted by itself twice", False),
    ],
)
def test_what_a_question_of_a_form_is_answered_with(question: str, text: str, may: bool):
    assert may_answer(question, text) is may


@pytest.mark.parametrize(
    ("question", "telling", "other"),
    [
        ("Which version is the server running?", "Everything runs 3.7.8.", "It opens at 13.2 bar."),
        ("Which version is the server running?", "It is on v4 now.", "It was updated on 4 May."),
        ("What is the number of the permit for the pier?", "The paper came, it is MO-1187.", "It draws 273 kilowatts."),
        ("Which licence covers the boat?", "We sail it under L-4887.", "It has 4887 seats."),
    ],
)
def test_a_version_and_the_number_of_a_permit_need_no_word_for_it(question: str, telling: str, other: str):
    assert holds_distinctive(question, telling)
    assert not holds_distinctive(question, other)
    assert may_answer(question, other)


def test_a_company_has_a_name_and_no_code():
    assert may_answer("Which company sent the divers?", "They came from Blackstone Diving.")
    assert not may_answer("Which company sent the divers?", "IMR 44.3012: two at a time.")


@pytest.mark.parametrize(
    ("question", "tellings", "asides"),
    [
        (
            "Who is the harbour master?",
            ("Ana Brandt, harbour master.", "The harbour master is my uncle.", "The harbour master: Mr Öztürk"),
            (
                "Operators and users ask the harbour master.",
                "We told the harbour master.",
                "The harbour master has a form at https://forms.example/Berths.",
                "harbour --master=Ready",
            ),
        ),
        ("Who may open the cabinet?", ("Only nurses may.", "Everybody may open it."), ("It may be opened.",)),
        (
            "What is the phone number of the clinic?",
            (
                "Call 112.",
                "The clinic: 0761 55 20 18",
                "+49 761 552018",
                "Extension 4711.",
                "Reach the clinic by phone on 555-0134.",
            ),
            (
                "The clinic team wrote #4625.",
                "The clinic was moved on 12-05-2024.",
                "The clinic runs release 10.2.1145.",
                "The clinic had 1,200 patients in 2022 2023.",
                "The clinic paid 48000 euros.",
            ),
        ),
        (
            "When was the yard founded?",
            ("In 1911.", "It was founded in spring.", "Founded after the flood.", "It was founded at six."),
            ("It is better than now.", "No yard is like it.", "One of them was founded by nobody.", "Run found --once."),
        ),
        ("When does the ferry leave?", ("It leaves at nine.", "Soon.", "Never."), ("Nine ferries leave.",)),
        ("When does it end?", ("does it end? Bo: nine, I think",), ("It ends, and one is glad.",)),
        (
            "Which version of Postgres does the shop need?",
            ("It needs 14 or newer.", "The latest one.", "Postgres v16."),
            ("The shop works with Postgres and with Oracle.", "The shop is issue #4."),
        ),
        (
            "On which port does the relay listen?",
            ("It listens on 9001.", "relay.example:8443", "Its port is 22."),
            ("The relay listens with #000080.", "The relay sends 40% of it.", "The relay is release 1.20."),
        ),
        ("On which port is it shown?", ("It is shown on 9001.",), ("It is shown on screens.",)),
        ("Which port does the ferry call at?", ("It calls at Corrin.",), ()),
        (
            "What is the maximum number of spare keys in a safe?",
            ("A safe holds at most 40 keys.", "Keys: 40", "No keys are kept."),
            ("A safe has 3 shelves of oak, and there are keys in it.", "Press 1, 3 or 5 on the safe."),
        ),
        (
            "What does the permit cost?",
            ("The permit costs 8.", "The permit is 8 euros.", "The fee for the permit is 1,200."),
            ("The list of fees says that of permit fa7f3f17.", "The fee is in permit-7.", "The fee: #7."),
        ),
    ],
)
def test_what_looks_like_the_form_asked_for_is_told_from_it(question: str, tellings: tuple[str, ...], asides: tuple[str, ...]):
    assert [text for text in tellings if not may_answer(question, text)] == []
    assert [text for text in asides if may_answer(question, text)] == []


def test_what_triggers_a_release_is_no_version():
    assert may_answer("Which bell announces a release of the prisoners?", "The small one.")


def test_a_column_of_telephones_has_short_numbers():
    assert may_answer("What is the phone number of Ana?", "Ana,4711", is_row=True, titles="name,phone")
    assert not may_answer("What is the phone number of Ana?", "Ana,4711", is_row=True, titles="name,ticket")
    assert may_answer("What is the height of the rose?", "rose,120", is_row=True, titles="species,height_cm")
    assert not may_answer("What is the height of the rose?", "rose,120", is_row=True, titles="species,seeds")


@pytest.mark.parametrize(
    ("question", "text", "is_answered"),
    [
        ("How many seconds may a boat wait?", "Boats that wait for more than this many seconds are refused.", True),
        ("How many boats may wait?", "Boats that wait for more than this many seconds are refused.", False),
        ("How large is the berth?", "The size of a berth.", True),
        ("Who waits?", "Boats wait.", False),
    ],
)
def test_the_value_of_the_setting_that_a_text_explains_is_the_figure(question: str, text: str, is_answered: bool) -> None:
    assert may_answer(question, text, value="`30`") is is_answered
    assert not may_answer(question, text, value="none")
