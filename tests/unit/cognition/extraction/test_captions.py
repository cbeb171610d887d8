"""Transcripts with times are read as who said what."""

import pytest

from hive_mind.cognition.extraction.screen_text import are_captions, text_of_captions
from tests.growth import costly

VTT = (
    "WEBVTT - Council\n\nNOTE made by a machine\n\n1\n00:00:01.000 --> 00:00:04.000 align:start\n<v Lea>The weir opens\n\n"
    "00:04.000 --> 00:06.000\nat <i>five</i> &amp; shuts at nine.\n\n00:07.000 --> 00:08.000\n<v.loud Bo>Who has the key?</v>\n"
)
SRT = (
    "1\r\n00:00:01,000 --> 00:00:03,000\r\nLea: The weir opens\r\n\r\n2\r\n00:00:03,000 --> 00:00:05,000\r\n"
    "at five & shuts at nine.\r\n"
    "3\r\n00:00:05,000 --> 00:00:06,000\r\n- Bo: Who has the key?\r\n"
)


@pytest.mark.parametrize("captions", [VTT, SRT])
def test_captions_of_one_speaker_are_one_paragraph(captions: str):
    assert text_of_captions(captions) == "Lea: The weir opens at five & shuts at nine.\n\nBo: Who has the key?\n"


def test_captions_without_a_name_are_prose_and_a_line_that_rolls_up_comes_once():
    cue = "00:01.000 --> 00:02.000\n"
    assert text_of_captions(f"WEBVTT\n\n{cue}The weir\n\n{cue}The weir\nis open.\n") == "The weir is open.\n"


def test_time_grows_with_the_text_and_not_with_its_square():
    hostile = ["<", "<v ", "1:", "00:01.000 --> ", "a: ", "- ", "&", "00:01.000 --> 00:02.000\n<v a>"]
    assert costly(text_of_captions, hostile, 5_000) == []


def test_captions_are_known_by_their_first_lines():
    assert are_captions("1\n00:00:02,100 --> 00:00:05,000\nThe weir opens.\n")
    assert are_captions("WEBVTT - of the weir\n\n00:01.000 --> 00:04.000\nThe weir opens.\n")
    assert not are_captions("WEBVTT is a format.\n")
    assert not are_captions("1\nThe weir opens.\n")
    assert not are_captions("")
