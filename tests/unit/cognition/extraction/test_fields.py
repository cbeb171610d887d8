"""Lines of "key: value" stand under the key, the title or the name that they are about."""

import pytest

from hive_mind.cognition.extraction.blocks import blocks
from hive_mind.cognition.extraction.fields import laid_out
from tests.growth import costly
from tests.unit.cognition.reading import candidates


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        (
            "# What runs where\nservice: mill\n"
            "env:\n  live:\n    log_level: warning\n"
            "  test:\n    log_level: debug\n    # The disks are old.\n    hosts:\n    - d7\n    - d8",
            {
                "service: mill": "mill",
                "log_level: warning": "mill: env: live",
                "log_level: debug": "mill: env: test",
                "The disks are old.": "mill: env: test",
                "d7": "mill: env: test: hosts",
                "d8": "mill: env: test: hosts",
            },
        ),
        (
            "[mail]\nport = 2525\n\n[cache]\nttl = 900\nport = 6379",
            {"port = 2525": "mail", "ttl = 900": "cache", "port = 6379": "cache"},
        ),
        (
            "Line 12\nFirst bus: 04:52\nLast bus: 00:31\nEvery 8 minutes\nLine 14\nFirst bus: 05:20\nLast bus: 23:10",
            {
                "First bus: 04:52": "Line 12",
                "Last bus: 00:31": "Line 12",
                "Every 8 minutes": "Line 12",
                "First bus: 05:20": "Line 14",
                "Last bus: 23:10": "Line 14",
            },
        ),
        (
            "SKU: KT-1\nName: Kettle\nStock: 48\n---\nSKU: KT-2\nName: Teapot\nStock: 3",
            {
                "SKU: KT-1": "KT-1: Kettle",
                "Name: Kettle": "KT-1: Kettle",
                "Stock: 48": "KT-1: Kettle",
                "SKU: KT-2": "KT-2: Teapot",
                "Name: Teapot": "KT-2: Teapot",
                "Stock: 3": "KT-2: Teapot",
            },
        ),
        (
            "-- All boats of the mill\nCREATE TABLE boats (\n  name TEXT NOT NULL,\n  berth INT DEFAULT 4\n);\n",
            {
                "All boats of the mill": "boats",
                "CREATE TABLE boats": "boats",
                "name TEXT NOT NULL,": "boats: CREATE TABLE boats",
                "berth INT DEFAULT 4": "boats: CREATE TABLE boats",
            },
        ),
        (
            "server {\n    listen 8443 ssl;\n    location /api {\n        proxy_pass http://10.0.0.7:9000;\n    }\n}\n",
            {
                "listen 8443 ssl;": "server",
                "location /api": "server",
                "proxy_pass http://10.0.0.7:9000;": "server: location /api",
            },
        ),
    ],
    ids=["keys within keys", "sections", "a line above", "cards", "tables", "braces"],
)
def test_fields_are_about_what_they_stand_under(text: str, concepts: dict[str, str]):
    assert {candidate.content: candidate.concept for candidate in candidates(text)} == concepts


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        (
            "INC-7 Pump leaks\nType: Fault   Floor: 3\nOwner: Ana",
            {"Type: Fault": "INC-7 Pump leaks", "Floor: 3": "INC-7 Pump leaks"},
        ),
        ("Patient: Ana Lopes\n\nAllergies: nuts", {"Allergies: nuts": "Patient: Ana Lopes"}),
        (
            "SUMMARY\nPatient: Ana Lopes\nWard: C3\nAllergies: nuts",
            {"Allergies: nuts": "SUMMARY: Patient: Ana Lopes", "Ward: C3": "SUMMARY: Patient: Ana Lopes"},
        ),
        ("Name: Kiln 4\n\nFirst heated in 2019.", {"First heated in 2019.": "Name: Kiln 4"}),
        ("; of the greenhouse\n[pump]\npin = 4\nmax = 9", {"pin = 4": "pump", "max = 9": "pump"}),
        (
            "django==4.2.13\ncelery[redis]>=5.3,<6\ngunicorn~=22.0",
            {"django==4.2.13": "4.2.13", "celery[redis]>=5.3,<6": "general"},
        ),
        (
            "09:00 – 09:30 Registration of all guests in the foyer of the hall\n09:30 – 10:15 Noise maps",
            {"09:30 – 10:15 Noise maps": "Noise"},
        ),
        (
            "server {\n    events { max_open 2048; deny all; }\n}\n",
            {"events": "server", "max_open 2048;": "server: events", "deny all;": "server: events"},
        ),
        ("Bo Ek\nRigger | Porto | bo@x.example\n\nWORK\nRigged 14 boats", {"Rigged 14 boats": "WORK"}),
    ],
)
def test_each_field_stands_by_itself_under_what_the_text_is_about(text: str, concepts: dict[str, str]):
    found = {candidate.content: candidate.concept for candidate in candidates(text)}
    assert {content: found.get(content) for content in concepts} == concepts


@pytest.mark.parametrize(
    "text",
    [
        "Ana: I see it.\nBen: You do?\n\nAna: I do.\nBen: We all do.",
        "Note: shut on Monday.\nThe mill opens at ten.",
        "The mill opens at ten and the lake is deep.\nNote: shut on Monday.\nFee: 3 euros",
        "```\n[mail]\nport = 2525\n```",
        "Mill\n----\n\nWheels: 3\nStones: 4",
    ],
)
def test_what_has_no_fields_below_a_title_stays_as_it_is(text: str):
    assert [block.heading for block in blocks(text)] == ["Mill" if "---" in text else ""] * len(blocks(text))


def test_time_grows_with_the_lines_and_not_with_their_square():
    hostile = [
        "a: b\n  c: d\n",
        "a:\n  b:\n",
        "a: b\n---\n",
        "x\na: b\n---\n",
        "[x]\na = b\n",
        "a = " * 9,
        "- " * 9,
        "a {\n  b;\n",
        "  }\n",
        "#" * 9,
        '"a":' * 9,
    ]
    assert costly(lambda text: laid_out(text.splitlines()), hostile, 5_000) == []
