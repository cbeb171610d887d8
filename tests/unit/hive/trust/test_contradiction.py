import pytest

from hive_mind.hive.trust.contradiction import conflicts
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
        ("The gateway is reachable.", "The gateway isn't reachable"),
        ("The cache never expires.", "The cache expires."),
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
    assert not conflicts(said("Alice likes dark roasted coffee beans"), said("Alice likes dark green tea leaves"))
    assert conflicts(said("Alice likes dark roasted coffee"), said("Alice likes dark roasted tea"))


def test_a_speaker_does_not_contradict_itself_by_saying_other_things():
    assert not conflicts(said("I went to the gym in town.", speaker="Ann"), said("I went to the pool in town.", speaker="Ann"))
    assert conflicts(said("I have 2 dogs.", speaker="Ann"), said("I have 3 dogs.", speaker="Ann"))


def test_what_a_speaker_says_on_another_day_is_news_and_no_contradiction():
    one, other = said("I have 2 dogs.", "dogs", "Ann", "2023-01-01"), said("I have 3 dogs.", "dogs", "Ann", "2024-01-01")
    assert not conflicts(one, other)


def test_two_readings_at_two_times_of_day_agree():
    one = said("CPU load is 40 percent.", "load", said_at="2024-01-01T10:00:00Z")
    other = said("CPU load is 60 percent.", "load", said_at="2024-01-01T10:01:00Z")
    assert not conflicts(one, other)
    assert conflicts(said("CPU load is 40 percent.", "load"), other)


def test_two_speakers_speak_of_themselves_but_of_one_gateway():
    mine, yours = said("I have 2 dogs.", speaker="Ann"), said("I have 3 dogs.", speaker="Bob")
    here, there = said("The gateway uses port 1.", speaker="Ann"), said("The gateway uses port 2.", speaker="Bob")
    assert not conflicts(mine, yours)
    assert conflicts(here, there)


def test_a_document_is_no_statement():
    long = "The gateway listens on port 8443. " * 100
    assert not conflicts(said(long), said(long.replace("8443", "9443")))
