"""The gate: what stays home, what leaves, and that no line of text can stop it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.gate.promotion import decide
from hive_mind.memory.gate.sensitive import credential_in, personal_data_in
from hive_mind.model.fact import KEPT_HOME
from tests.builders import fact
from tests.growth import costly
from tests.sampled import thorough

GATE = PromotionSettings()

HARMLESS = """
The pump is red.
Ines: I moved to Berlin on 2023-05-08.
日本語を話します
हॉल सात का पंप टपकता है।
Pump 0.
Version 10.15.7.3000 was released on 2024-03-01.
The server 192.168.100.200 is down.
id: 550e8400-e29b-41d4-a716-446655440000
commit: 9fceb02d0ae598e95dc970b74767f19372d61af8
INC-2024-001 was closed and CVE-2024-3094 is bad.
The order 1700000000000000 was shipped.
It weighs 12 500 000 kg.
Revenue rose by +10 000 000 000 euro.
It took from 2019-2023 to build.
On 05/08/2023 13:56 they met.
ISBN 978-3-16-148410-0 is a book.
The call on 2023-05-08 was long, the call on 08.05.2023 was short.
A phone with iOS 17.5.1.2024 rings.
The Phone 14 Pro costs 1199.00 euro.
Mobile data use was 1.500.000 bytes.
Phones sold: 225000000
Der Termin ist am 01.02.2023 um 12:30.
lat 52.520008, lon 13.404954
The ratio is 0.123456789012.
Population: 83 200 000
PMID 12345678 says so, trial NCT01234567890 agrees.
At 00:12:34.567890 it stopped.
The password is stored in the vault.
The passwords were leaked.
His PIN was changed.
Password: required
Password policy: at least eight characters.
The token is expired.
The access token was rotated on Monday.
max_tokens: 4096
Prompt tokens = 12345678 in total.
Two-factor token: see the manual.
The secret of the cake is butter and love.
The secret is that nobody knows.
Pin 13 is connected to ground.
Authentication uses bearer tokens in the header.
path: hive_mind/memory/DistributedCognitiveMemory2
source: docs/Adr/0003-Ranking-And-Search
git@github.com:org/repo.git is cloned.
npm i @scope/pkg@1.2.3 installs it.
Meet @ines at the harbour @ 10.
https://example.org:8080/path@x is open.
""".strip().splitlines()

CREDENTIALS = f"""
My password is hunter2
password: swordfish
Username: admin Password: swordfish Host: x
DB_PASSWORD=correcthorse
Das Passwort lautet Sonnenschein!
The PIN is 4921.
api_key = 'abcdef'
secret: s3cr3t!
"client_secret": "abc-def-ghi"
{{'token': 'abcd'}}
AKIAIOSFODNN7EXAMPLE is the key
token ghp_{"a1B2" * 9}
Use xoxb-123456789012-abcdefghij there.
eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N
-----BEGIN RSA PRIVATE KEY----- and so on
-----BEGIN OPENSSH PRIVATE KEY----- and so on
Connect to postgres://user:pw@host/db for it.
redis://:pw@host is the bus.
Use AccountKey=abcdefghijklmnopqrstuvwx== now
session: dGhJcyBpcyBhIHNlY3JldA9xQz7LmP0sR4t
Authorization: Bearer abcDEF1234567890xyz
pass\u200bword: hunter2
The password of pump 0 is hunter0Xy!
The wifi password for guests is sunshine42
Ann's password for the portal is Summer2024!
The PIN of the door is 4711
user admin and password admin123
The passphrase for the backup is correct horse battery staple
the secret of the webhook is 9f8e7d6c5b
""".strip().splitlines()

PERSONAL = """
an e-mail address: Write to ines@example.org please.
an e-mail address: ines.m+x@mail.example.co.uk
an e-mail address: ines (at) example (dot) org
an e-mail address: ïnes@exämple.org wrote.
a card number: 4111 1111 1111 1111 is my card
a card number: 5500-0000-0000-0004
a card number: 371449635398431 is hers
a card number: card 4111１１１１１１１１１１１１
a bank account number: DE89 3704 0044 0532 0130 00
a bank account number: gb29nwbk60161331926819 is ours
a telephone number: Ring +49 30 1234567
a telephone number: +1 (212) 555-0123
a telephone number: 0049 30 1234567
a telephone number: (212) 555-0123
a telephone number: 212-555-0123 is it
a telephone number: 1-800-555-0199
a telephone number: 030 1234567 is the office
a telephone number: 0171/1234567
a telephone number: 020 7946 0958
a telephone number: 06 12 34 56 78
a telephone number: 01711234567
a telephone number: call me at 555-0123
a telephone number: phone: 5550123
a telephone number: +49\u00a030\u20111234567
""".strip().splitlines()

POOR = [
    *("ok thanks", "Thank you very much!", "ok", "Yes.", "!!! ???", "2023", "12.5 + 3"),
    *("<div><p></p><br/></div>", "a = {}[]();"),
    *("stuff idk maybe whatever", "idk dunno etc", "test test test", "sei lá, tanto faz"),
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_private_may_leave(text: str):
    assert decide(fact(text), GATE).reason == ""


@pytest.mark.parametrize("text", CREDENTIALS)
def test_credentials_stay_home(text: str):
    assert decide(fact(text), GATE).reason == "its text holds a credential"
    assert decide(fact(text), PromotionSettings(hold_back_secrets=False, hold_back_personal=False)).is_shared


@pytest.mark.parametrize("line", PERSONAL)
def test_personal_data_stays_home_and_the_reason_names_its_kind(line: str):
    kind, text = line.split(": ", 1)

    assert decide(fact(text), GATE).reason == f"its text holds {kind}"
    assert "holds" not in decide(fact(text), PromotionSettings(hold_back_personal=False)).reason


@pytest.mark.parametrize("text", POOR)
def test_what_says_nothing_to_others_stays_home(text: str):
    decision = decide(fact(text), GATE)

    assert not decision.is_shared
    assert decision.reason.startswith("its text ")


def test_a_number_with_a_wrong_check_digit_is_no_card_and_no_account():
    for text in ("4111 1111 1111 1112 is my order", "gb29nwbk60161331926818 is a code"):
        assert decide(fact(text), GATE).is_shared


def test_doubtful_facts_stay_home():
    assert decide(fact(confidence=0.29), GATE).reason == "its confidence 0.29 is below 0.30"
    assert decide(fact(confidence=0.3), GATE).is_shared


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ({"before": "My password is hunter2"}, "the text before it"),
        ({"concept": "password: swordfish"}, "its topic"),
        ({"entities": ("Ada", "ada@example.org")}, "a name it mentions"),
        ({"labels": ("+49 30 1234567",)}, "a name it mentions"),
        ({"sources": ("chat", "ines@example.org")}, "its source"),
    ],
)
def test_everything_that_would_travel_is_looked_at(where: dict, what: str):
    assert decide(fact(**where), GATE).reason.startswith(f"{what} holds a")


def test_what_others_know_already_passes_because_it_confirms():
    assert decide(fact(sources=("ines", "otto"), offered=("ines",)), GATE).is_shared


def test_an_open_gate_lets_everything_out_but_what_was_stored_for_its_agent_alone():
    is_open = PromotionSettings(is_open=True)

    assert all(decide(fact(text, confidence=0.0), is_open).is_shared for text in [*CREDENTIALS, *POOR])
    assert decide(fact(held_back=KEPT_HOME), is_open).reason == KEPT_HOME


@given(st.text(max_size=300), st.sampled_from(["password: hunter2x", "AKIAIOSFODNN7EXAMPLE", "postgres://me:pw@host/db"]))
def test_no_text_around_it_hides_a_credential(around: str, secret: str):
    assert credential_in(f"{around} {secret} ")
    assert credential_in(f"{secret} {around}")


@given(st.lists(st.from_regex(r"[a-z]{1,9}", fullmatch=True), max_size=30).map(" ".join), st.integers(10**7, 10**8 - 1))
def test_words_alone_are_never_personal_but_a_number_to_call_among_them_is(words: str, number: int):
    assert personal_data_in(words) == ""
    assert personal_data_in(f"{words}, +49 30 {number}5 {words}") == "a telephone number"


@given(st.dates(), st.times(), st.tuples(*[st.integers(0, 999)] * 4), st.floats(-1e9, 1e9), st.uuids())
def test_dates_times_versions_measurements_and_ids_may_leave(day, moment, version, measured, identity):
    numbers = f"{day} {day:%d.%m.%Y} {day:%m/%d/%Y} {moment} v{'.'.join(map(str, version))}, {measured:.6f} m, {identity}"

    assert personal_data_in(numbers) != "a telephone number"


PIECES = [
    *"a0+@-(<1.= é", "0 ", "+1 ", "password", "password=", "password =", "a@", "1-", "eyJ", "eyJ-", "-----BEGIN ", "aA1=", "x:",
    "://:", "a://b:", "01 ", "call ", "call", "phone 1", "< ", "DE89 ", "[at]", "a(at)a", "sig=", "=aB3", "token is ",
    "bearer ", "a.", "4111 ", "pin:", "://a:a", "a-a+", "xox", "sk-", "SG.aaaaaaaaaaaaaaaaaa", "1234567890:", "ghp_",
    "pin ", "door code ", "is ", "open 1 ", "passport 1", "enter ", "user ", "as ", "code is 1", "the PIN \"", "A1 ", "set to ",
    "licence ", "curl -u ", "a dot b at ", "a@a.a.a.", "0171 ", "(0171)", "2-", 'password"\'', "\u3040", "\u0301", "\u200b",
]  # fmt: skip


@pytest.mark.parametrize("chars", [200, thorough(1_000)])
def test_a_hostile_line_costs_time_in_proportion_to_its_length(chars):
    assert costly(lambda line: decide(fact(line), GATE), PIECES, chars) == []
