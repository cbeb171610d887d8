"""Lines that belong to the line above them are read as that: settings without signs, stages of an image, names below letters."""

import pytest

from hive_mind.cognition.extraction.stanzas import signed_in, with_stanzas
from tests.growth import costly
from tests.unit.cognition.reading import candidates

SERVERS = "frontend web\n    bind 10.2.0.4\n    mode tcp\n    default_backend mill\n\n"
SERVERS += "backend mill\n    balance leastconn\n    mode http"
IMAGE = (
    "FROM rust:1.80 AS make\nWORKDIR /mill\nRUN cargo build \\\n    --release\n\n# Small.\nFROM alpine\nEXPOSE 9400\nUSER miller"
)


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        (
            SERVERS,
            {
                "bind 10.2.0.4": "frontend web",
                "default_backend mill": "frontend web",
                "balance leastconn": "backend mill",
                "mode http": "backend mill",
            },
        ),
        (
            IMAGE,
            {
                "WORKDIR /mill": "FROM rust:1.80 AS make",
                "RUN cargo build \\ --release": "FROM rust:1.80 AS make",
                "EXPOSE 9400": "FROM alpine",
                "USER miller": "FROM alpine",
            },
        ),
        ("Dear Bo,\nthe weir is shut.\n\nKind regards\nAna Lopes", {"Kind regards Ana Lopes": "signature: letter"}),
        ("Die Schleuse ist zu.\n\nViele Grüße\n\nUwe Kern", {"Viele Grüße Uwe Kern": "signature: Brief"}),
        ("L'écluse est fermée.\n\nCordialement,\nInès Roux", {"Cordialement, Inès Roux": "signature: lettre"}),
        ("The weir is shut.\n\nLove,\nIda", {"Love, Ida": "signature: letter"}),
    ],
)
def test_what_belongs_to_a_line_is_told_of_it(text: str, concepts: dict[str, str]):
    told = {candidate.content: candidate.concept for candidate in candidates(text)}
    assert {content: told.get(content) for content in concepts} == concepts


@pytest.mark.parametrize(
    "text",
    [
        "The miller wrote a letter\n    that nobody read,\n    and went to bed.",
        "def mill():\n    grind\n    sift",
        "Best of all, Ana came.\nLove is what Ida wants most of all from her brother in Porto.",
        "Regards were sent to Ana.\nBo sent them.",
        "SELECT name\nFROM mills\nWHERE river = 'Lee'",
        "FROM the mill we walked.\nRUN they shouted.\nTHE END came soon.",
        "Menu\n  Soup.\n  Bread.",
    ],
)
def test_other_lines_stay_as_they_are(text: str):
    assert list(with_stanzas(text.splitlines())) == text.splitlines()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Yours truly, Bo Ek", "letter"),
        ("Mit freundlichen Grüßen Uwe Kern", "Brief"),
        ("Distinti saluti, Rosa Neri", "lettera"),
        ("Best of luck to all of them", ""),
        ("Love is all", ""),
        ("Ana Lopes", ""),
    ],
)
def test_a_signature_tells_what_it_signs(text: str, word: str):
    assert signed_in(text) == word


def test_lines_are_read_in_linear_time():
    lines = ["Yours\n", "a b\n", "a b\n    key value\n", "FROM a \\\n", "Best regards", "Kind ", "a b\n    key value"]
    assert costly(lambda text: with_stanzas(text.splitlines()), lines, 20_000) == []
    assert costly(signed_in, lines, 20_000) == []
