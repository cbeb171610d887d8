"""A short text answers nothing that it does not tell: its title states nothing, and one thing's key is not another's."""

from pathlib import Path

import pytest

from tests.unit.cognition.answering.test_records import first_quoted

POOL = "Regole della piscina\n\nLa piscina apre alle 9. La cuffia è d'obbligo.\n"
SHED = "Οδηγίες\n\nΤο κλειδί της αποθήκης είναι κάτω από τη γλάστρα. Η βρύση στάζει.\n"
BOATS = "Ata\n\nCaio ficou com a compra dos barcos. Rita guarda as velas.\n"
CHAT = "Anke: Ich bringe den Grill mit.\nBernd: Dann bringe ich Kohle mit.\n"
FERRY = "Q: Can I bring my own bike on the ferry?\nA: Yes, bikes cost 6 euros.\nQ: Is there food?\nA: A bar sells soup.\n"
MUSEUM = "Müze duyurusu\n\nMüze saat 9'da açılır. Kapıda bilet satılır.\n"


@pytest.mark.parametrize(
    ("text", "question", "told"),
    [
        (POOL, "Quanto è profonda la piscina?", ""),
        (POOL, "A che ora apre la piscina?", "alle 9"),
        (SHED, "Πού είναι το κλειδί του γκαράζ;", ""),
        (SHED, "Πού είναι το κλειδί της αποθήκης;", "γλάστρα"),
        (BOATS, "Quem pintou os barcos?", ""),
        (BOATS, "Quem guarda as velas?", "Rita"),
        (CHAT, "Wer bringt den Kuchen mit?", ""),
        (CHAT, "Wer bringt den Grill mit?", "Anke"),
        ("Nocleg kosztuje 65 zł.\nRower kosztuje 20 zł.\n", "Ile kosztuje śniadanie?", ""),
        ("Nocleg kosztuje 65 zł.\nRower kosztuje 20 zł.\n", "Ile kosztuje nocleg?", "65"),
        (MUSEUM, "Müze hangi sokakta?", ""),
        (FERRY, "Can I bring a dog?", ""),
        (FERRY, "Can I bring my bike?", "bikes cost 6 euros"),
        ("Lentil pie\n\nBake it for 40 minutes. It keeps three days.\n", "Can the lentil pie be frozen?", ""),
    ],
)
def test_what_is_not_told_is_declined(text: str, question: str, told: str, tmp_path: Path):
    quoted = first_quoted(text, question, tmp_path)
    assert told in quoted if told else quoted == ""


GALLERY = "The gallery opens at ten. Lockers stand beside the stairs. A day ticket is 7.50 euros. Bags stay at the desk.\n"


@pytest.mark.parametrize(
    ("text", "question", "told"),
    [
        # It stands out: it has the form that is wanted, and no other fact has as much of the rest.
        (GALLERY, "What time does the gallery let people in?", "at ten"),
        (GALLERY, "Where do people keep their bags?", "at the desk"),
        ("FROM golang:1.23\nEXPOSE 9400\nVOLUME /grain\nWORKDIR /mill\n", "Which port is exposed?", "9400"),
        # Neither the deed nor the thing is told.
        (GALLERY, "When was the gift shop painted?", ""),
        (GALLERY, "Who founded the gallery?", ""),
        (GALLERY, "What is the gallery's phone number?", ""),
        ("FROM golang:1.23\nEXPOSE 9400\nVOLUME /grain\nWORKDIR /mill\n", "Which port does the scanner use?", ""),
    ],
)
def test_of_a_short_text_what_stands_out_is_told(text: str, question: str, told: str, tmp_path: Path):
    quoted = first_quoted(text, question, tmp_path)
    assert told in quoted if told else quoted == ""
