"""Text files of before Unicode, and files that are no text at all."""

import gzip
from pathlib import Path

import pytest

from hive_mind.runtime.texts import Unreadable, decoded
from hive_mind.runtime.texts.text_files import read_text

TEXTS = [
    ("cp1252", "Die Heizung im Büro läuft bis 18 Uhr – auch „nachts“."),
    ("latin_1", "Le café ouvre à sept heures, sauf le dimanche où il est fermé."),
    ("latin_1", "Frau Müller wohnt in Köln.\n"),
    ("latin_1", "The crane lifts two tonnes. " * 20 + "The café opens at 7, a coffee costs £2.\n"),
    ("cp1251", "Насос номер семь стоит в зале три и охлаждает трансформаторы."),
    ("koi8_r", "Насос номер семь стоит в зале три и охлаждает трансформаторы."),
    ("shift_jis", "チェックインは午後三時から、チェックアウトは午前十時までです。"),
    ("gb18030", "水泵七号在三号厅冷却变压器。每天检查一次。"),
]


@pytest.mark.parametrize(("encoding", "text"), TEXTS)
def test_an_encoding_of_before_unicode_is_found_out_also_by_a_letter_or_two(encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding)) == text


def test_a_slip_in_a_text_of_utf_8_does_not_make_it_one_of_another_encoding() -> None:
    assert decoded("Der Schlüssel hängt im Büro".encode() + b"\xff.") == "Der Schlüssel hängt im Büro\N{REPLACEMENT CHARACTER}."


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "a picture"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a picture"),
        (b"PK\x03\x04\x14\0", "an archive, or a document"),
        (gzip.compress(b"text", mtime=0), "an archive"),
        (bytes(range(256)) * 4, "looks binary"),
    ],
    ids=["png", "jpeg", "zip", "gzip", "bytes"],
)
def test_what_is_no_text_is_told_by_its_kind(tmp_path: Path, body: bytes, kind: str) -> None:
    (tmp_path / "file.txt").write_bytes(body)
    found = read_text(tmp_path / "file.txt")
    assert isinstance(found, Unreadable)
    assert kind in found.reason
