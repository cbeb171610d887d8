"""The one form in which texts are compared: the same letters are one, whatever they look like to a program."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.memory.gate.disguises import forms_of
from hive_mind.model import ids
from hive_mind.model.ids import normal, shown, without_tags
from hive_mind.ranking.tokens import tokenize


@pytest.fixture(autouse=True)
def _forms_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is remembered from before."""
    monkeypatch.setattr(ids, "_FORMS", ids._Forms(ids._form))
    monkeypatch.setattr(ids, "_SHOWN", ids._Forms(ids._shown_form))


@pytest.mark.parametrize(
    "text",
    [
        *("ｐｏｒｔ ８４４３", "port ٨٤٤٣", "port ८४४३", "po\u00adrt 84\u200b43", "\ufeffport 8443\u2060", "𝐩𝐨𝐫𝐭 𝟖𝟒𝟒𝟑"),
        *("port\u00a08443", "p\ufe0fort 8443", "port 8443\x00\x7f", "po\U000e0041rt 8443"),
    ],
)
def test_the_same_letters_and_digits_are_the_same_to_gate_and_search(text: str):
    assert normal(text) == "port 8443"
    assert tokenize(text) == tokenize("port 8443")
    assert next(forms_of(text)) == "port 8443"


def test_a_code_with_a_hyphen_that_does_not_break_is_found_by_one_that_does():
    assert tokenize("CVE\u20112024\u20111234") == tokenize("CVE-2024-1234")


@pytest.mark.parametrize("text", ["10² = 100", "½ litre", "it´s", "a — b", "10 – 20", "\u0601 12"])
def test_what_a_reader_tells_apart_stays_apart(text: str):
    assert normal(text) == text


@given(st.text())
def test_doing_it_again_changes_nothing(text: str):
    assert normal(normal(text)) == normal(text)


@given(st.text(alphabet="<>&;#/*_`~\\%x4 1abr!-\u0661\u200b一"))
def test_any_markup_is_read_without_an_error(text: str):
    assert isinstance(without_tags(text), str)
    assert next(forms_of(text)) is not None
    list(forms_of(text))


def test_tags_and_references_are_read_as_a_page_shows_them():
    assert (
        without_tags("4<b>1</b>11<br>1&#49;&#x31;1 &amp; <your-password> ?a=1&copy=2")
        == "4111 1111 & <your-password> ?a=1&copy=2"
    )


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("The tur\u00adbine\u200b runs.", "The turbine runs."),
        ("\x1b[1;31mERROR\x1b[0m pump 4", "ERROR pump 4"),
        ("\x1b]8;;https://harbour.example\x07page\x1b]8;;\x07 two", "page two"),
        ("It’s “open”", 'It\'s "open"'),
        ("the oﬃce ﬂoor", "the office floor"),
        ("CVE\u20132026\u20110007", "CVE-2026-0007"),
        ("open \u2014 or shut", "open \u2014 or shut"),
        ("👩\u200d🚀 می\u200cروم", "👩\u200d🚀 می\u200cروم"),
        ("８ x²", "８ x²"),
        ("ﬀ ﬁ ﬆ ﬓ", "ff fi st ﬓ"),
        ("‛a‟", "'a\""),
        ("\U0001f3f4\U000e0067\U000e007f \u0601", "\U0001f3f4\U000e0067\U000e007f \u0601"),
        # Nobody sees them, and a model reads them: tags, selectors and fillers but in flags, pictures and scripts; controls.
        ("mat\U000e0041\U000e0042 \U0001f3f4\U000e0067 x\U000e007f", "mat \U0001f3f4 x"),
        ("mat\ufe01\U000e0101 😀\ufe0f\ufe0f\U000e0121 4\ufe0f\u034f", "mat 😀\ufe0f 4"),
        ("4\ufe0f\u20e3 葛\U000e0100 ᠠ\u180b ❤\ufe0f\u200d🔥", "4\ufe0f\u20e3 葛\U000e0100 ᠠ\u180b ❤\ufe0f\u200d🔥"),
        ("a\u3164b\u115fc", "abc"),
        ("the\x00 val\x07ve\x7f \x9d\t1\r\n\x0c2", "the valve \t1\r\n\x0c2"),
        ("N\x08NA\x08A _\x08b", "NA b"),
    ],
)
def test_a_text_is_kept_as_the_eye_sees_it_and_a_keyboard_types_it(written: str, kept: str):
    assert shown(written) == kept


@given(st.text(st.characters(exclude_categories=())))
def test_keeping_it_again_changes_nothing(text: str):
    assert shown(shown(text)) == shown(text)
