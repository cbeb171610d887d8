"""Disputes on labelled pairs: what are called contradictory, rightly and wrongly, within bounds."""

import pytest

from benchmarks.disputes import PARTS, figures, pairs
from hive_mind.hive.trust.contradiction import conflicts, corrects
from hive_mind.model.evidence import Statement


def said(content: str, concept: str = "Gateway", speaker: str = "", said_at: str = "") -> Statement:
    return Statement(f"{speaker}: {content}" if speaker else content, concept, said_at, speaker)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The gateway listens on port 8443.", "The gateway listens on port 9443."),
        ("The gateway listens on port 8443.", "The gateway now listens on port 9443 of the host."),
        ("Port: 8443", "Port: 9443"),
        ("| gateway | 8443 |", "| gateway | 9443 |"),
        ("The gateway is reachable.", "The gateway is not reachable."),
        ("The shed opens at 9 am.", "The shed opens at 9 pm."),
        ("The disk holds 3 TB.", "The disk holds 3 GB."),
        ("The build is v4.1.0.", "The build is v4.10.0."),
        ("The safe is locked.", "The safe is unlocked."),
        ("Lea chante à la chorale.", "Lea ne chante plus à la chorale."),
        ("Ion cântă în cor.", "Ion nu mai cântă în cor."),
        ("घड़ी सही है।", "घड़ी सही नहीं है।"),
        ("الساعة تعمل جيدا.", "الساعة لا تعمل جيدا."),
        ("Das Tor hat sieben Riegel.", "Das Tor hat 8 Riegel."),
        ("The gateway is reachable.", "The gateway isn't reachable"),
        ("The cache never expires.", "The cache expires."),
        ("Lea sings in the choir.", "Lea no longer sings in the choir."),
        ("Lea will sing on Friday.", "Lea won't sing on Friday."),
        ("Lea eats fish.", "Lea doesn't eat fish."),
        ("Das Tor ist offen.", "Das Tor ist nicht offen."),
        ("Das Tor ist gestrichen.", "Das Tor ist nicht mehr gestrichen."),
        ("La puerta está pintada.", "La puerta nunca está pintada."),
        ("Le portail est peint.", "Le portail n'est pas peint."),
        ("Ворота открыты утром.", "Ворота не открыты утром."),
        ("The server runs Python 3.1 today.", "The server runs Python 3.10 today."),
        ("Tracing is enabled in production.", "Tracing is disabled in production."),
        ("Deploys happen on Mondays.", "Deploys happen on Fridays."),
        ("Backups run at 02:00.", "Backups run at 03:00."),
        ("The release is on 2024-05-01.", "The release is on 2024-06-01."),
        ("The production database is PostgreSQL.", "The production database is MySQL."),
        ("Alice owns the repository and has 3 reviewers.", "Alice owns the repository and has four reviewers."),
        ("Alice is the owner of the repository.", "Bob is the owner of the repository."),
        ("The limit is 1,000 requests.", "The limit is 2000 requests."),
        ("In 2023 the revenue was 5 million.", "In 2023 the revenue was 6 million."),
        ("The temperature is -5 degrees.", "The temperature is 5 degrees."),
        ("Alice moved to Berlin last spring.", "In spring, Alice moved to Munich."),
        # Texts without spaces.
        ("ゲートウェイはポート8443で待ち受けます。", "ゲートウェイはポート9443で待ち受けます。"),
        ("保存期間は30日です。", "保存期間は90日です。"),
        ("网关的端口是8443。", "网关的端口是9443。"),
    ],
)
def test_statements_that_can_not_both_be_true_conflict(one, other):
    assert conflicts(said(one), said(other))
    assert conflicts(said(other), said(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The gateway listens on port 8443.", "the gateway listens on port 8443"),
        ("The limit is 1,000 requests.", "The limit is 1000 requests."),
        ("The limit is 9 requests.", "Correction: the limit is now 9 requests."),
        ("The gate opens at 07:15.", "The gate opens at 7:15."),
        ("The gate opens at 7 am.", "The gate opens at 07:00."),
        ("The gate opens at noon.", "The gate opens at 12:00."),
        ("Das Tor öffnet um 7.15 Uhr.", "Das Tor öffnet um Viertel nach sieben."),
        ("Das Tor öffnet um halb acht.", "Das Tor öffnet um 7:30 Uhr."),
        ("La porte ouvre à 7h15.", "La porte ouvre à 7:15."),
        ("The boat costs 4.500,50 euros.", "The boat costs 4500.50 euros."),
        ("Das Boot kostet 4.500 Euro.", "Das Boot kostet 4500 Euro."),
        ("The barge takes 7 kilograms.", "The barge takes 7 kg."),
        ("The barge seats forty-two people.", "The barge seats 42 people."),
        ("The barge seats two hundred people.", "The barge seats 200 people."),
        ("The rent is due on the 3rd.", "The rent is due on the 3."),
        ("The share is 0.20 of it.", "The share is 0.2 of it."),
        ("The barge takes 2,5 t.", "The barge takes 2.50 t."),
        ("The boat costs 4,500.00 euros.", "The boat costs 4500 euros."),
        ("Channel 🎣 has 4 members.", "Channel 🛶 has 7 members."),
        ("The C build takes 3 minutes.", "The C++ build takes 5 minutes."),
        ("Class B+ needs 60 points.", "Class B needs 55 points."),
        ("दिन की पाली 6 बजे शुरू होती है।", "दान की पाली 8 बजे शुरू होती है।"),
        ("Alice has three cats.", "Alice has 3 cats."),
        ("The gateway listens on port 8443.", "The gateway listens on port 8443 and uses TLS."),
        ("Server 12 has 4 GB of memory.", "Server 13 has 4 GB of memory."),
        ("| tick.harrow.example | Harrow | 1 |", "| tock.harrow.example | Harrow | 1 |"),
        ("Server 12 has 4 GB of memory.", "Server 13 has 8 GB of memory."),
        ("Alice works at the Berlin office.", "Bob works at the Berlin office."),
        ("Alice's laptop runs Linux at work.", "Bob's laptop runs Windows at work."),
        ("The primary database is PostgreSQL.", "The secondary database is MySQL."),
        ("In 2023 the revenue was 5 million.", "In 2024 the revenue was 6 million."),
        ("Alice visited Rome on 2024-01-05 with 3 friends.", "Alice visited Rome on 2024-02-05 with 4 friends."),
        ("Yesterday the build failed on main.", "Today the build passed on main."),
        ("The port is not 8443.", "The port is not 9443."),
        ("The port is 8443.", "The port is not 9443."),
        ("Deploys happen on Mondays.", "Deploys never happen on Fridays."),
        ("Does the gateway listen on port 8443?", "The gateway listens on port 9443."),
        ("The cat sat on the mat.", "Quarterly revenue grew by ten percent."),
        ("", "The gateway listens on port 8443."),
        ("…", "!"),
        # Names and numbers that tell things apart, with and without spaces.
        ("Alert 12: threshold 80 %.", "Alert 13: threshold 90 %."),
        ("The table users_3 has 40 rows.", "The table users_8 has 52 rows."),
        ("Patient A takes 500 mg a day.", "Patient B takes 850 mg a day."),
        ("Ferry A leaves at 07:15.", "Ferry B leaves at 07:45."),
        ("Column a is nullable.", "Column b is not nullable."),
        ("Pumpe 3 läuft mit 1450 Umdrehungen.", "Pumpe 4 läuft mit 1800 Umdrehungen."),
        ("ゲートウェイはポート8443で待ち受けます。", "バックアップは毎日午前3時に実行されます。"),
        ("バックアップは毎日午前3時に実行されます。", "保存期間は30日です。"),
        ("サーバー12は東京にあります。", "サーバー13は大阪にあります。"),
        ("网关的端口是8443。", "备份保留30天。"),
        ("服务器12是主机。", "服务器13是备机。"),
    ],
)
def test_statements_that_may_both_be_true_do_not(one, other):
    assert not conflicts(said(one), said(other))
    assert not conflicts(said(other), said(one))


def test_only_statements_about_the_same_concept_conflict_however_it_is_written():
    one, other = "It listens on port 8443.", "It listens on port 9443."
    assert conflicts(said(one, "API  Gateway"), said(other, "api gateway"))
    assert not conflicts(said(one, "gateway"), said(other, "proxy"))
    assert not conflicts(said(one, ""), said(other, ""))


def test_the_seeds_overlap_must_be_more_than_four_tenths():
    coffee, tea = "Alice likes dark roasted fresh coffee beans", "Alice likes dark roasted warm tea leaves"
    assert not conflicts(said(coffee), said(tea))
    assert conflicts(said(coffee), said(tea.removesuffix(" leaves")))
    assert conflicts(said("Alice likes dark roasted coffee"), said("Alice likes dark roasted tea"))


def test_a_speaker_does_not_contradict_itself_by_saying_other_things_and_two_speak_of_themselves_but_of_one_gateway():
    assert not conflicts(said("I went to the gym in town.", speaker="Ann"), said("I went to the pool in town.", speaker="Ann"))
    assert conflicts(said("I have 2 dogs.", speaker="Ann"), said("I have 3 dogs.", speaker="Ann"))
    assert not conflicts(said("I have 2 dogs.", speaker="Ann"), said("I have 3 dogs.", speaker="Bob"))
    assert conflicts(said("The gateway uses port 1.", speaker="Ann"), said("The gateway uses port 2.", speaker="Bob"))


@pytest.mark.parametrize(
    ("said_at", "other_said_at", "speaker", "agree"),
    [
        ("2024-01-05T10", "2024-01-05T11", "", True),
        ("2024-01-05T10", "2024-01-05T10", "", False),
        ("2024-01-05T10", "2024-01-05", "", False),
        ("2024-01-05T", "2024-01-06T", "", False),
        ("2024", "2025", "Ann", True),
        ("2024", "2024", "Ann", False),
        ("", "2025", "Ann", False),
        ("", "", "Ann", False),
    ],
)
def test_times_tell_two_readings_apart_by_the_hour_and_those_of_one_speaker_by_the_day(
    said_at: str, other_said_at: str, speaker: str, *, agree: bool
):
    one, other = (
        said(f"The load is {share} percent.", "load", speaker, at) for share, at in ((40, said_at), (60, other_said_at))
    )
    assert conflicts(one, other) is conflicts(other, one) is not agree


@pytest.mark.parametrize(
    ("later", "earlier", "of_one", "of_two"),
    [
        ("The gateway listens on port 9443.", "The gateway listens on port 8443.", True, True),
        ("The port is not 8443.", "The port is 8443.", True, True),
        ("The port is 8443.", "The port is not 8443.", True, True),
        ("The port is not 8443.", "The port is not 9443.", False, False),
        ("The port is 8443.", "The port is 8443.", False, False),
        ("I have 3 dogs.", "I have 2 dogs.", True, False),
        ("I am not at home.", "I am at home.", True, False),
        ("…", "The port is 8443.", False, False),
        ("The port is 8443.", "!", False, False),
    ],
)
def test_a_later_word_corrects_an_earlier_one_about_the_same_and_what_somebody_says_of_itself_only_its_own(
    later: str, earlier: str, *, of_one: bool, of_two: bool
):
    assert [corrects(said(later, speaker="Ann"), said(earlier, speaker=name)) for name in ("Ann", "Bob")] == [of_one, of_two]
    assert corrects(said(later, said_at="2024"), said(earlier, said_at="2023")) is of_one


def test_a_document_is_no_statement():
    long = "The gateway listens on port 8443. " * 100
    assert not conflicts(said(long), said(long.replace("8443", "9443")))


@pytest.mark.parametrize("part", PARTS)
def test_what_is_called_disputed_is_whichever_of_two_statements_comes_first(part: str):
    found = figures(pairs(part))
    assert found.precision >= 0.95
    assert found.recall >= 0.8
    for pair in pairs(part):
        one, other = Statement(pair.one, pair.concept), Statement(pair.other, pair.concept)
        assert conflicts(one, other) == conflicts(other, one)


def test_the_pairs_are_many_and_of_both_kinds():
    told = [pair for part in PARTS for pair in pairs(part)]
    assert len({(pair.one, pair.other) for pair in told}) == len(told) >= 300
    assert sum(pair.conflict for pair in told) >= 150
