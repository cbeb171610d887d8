"""No value of a credential is left in a text or in JSON, however it is spelled there, and nothing else is taken away."""

import base64
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

from hypothesis import assume, example, given
from hypothesis import strategies as st

from hive_mind.credentials import VALUE_CHARACTERS_MIN, Secret, reference_to
from hive_mind.credentials.redaction import Redaction

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=VALUE_CHARACTERS_MIN, max_size=30)
# Of few characters, so that they overlap and repeat.
TANGLED = st.text('ab\\"/%2 \n', min_size=VALUE_CHARACTERS_MIN, max_size=8)


def ascii_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def large_digits(text: str) -> str:
    return "".join(
        character if character.isascii() else "".join(f"\\u{unit:04X}" for unit in units(character)) for character in text
    )


def units(character: str) -> list[int]:
    body = character.encode("utf-16-be")
    return [int.from_bytes(body[at : at + 2]) for at in range(0, len(body), 2)]


SPELLINGS: list[Callable[[str], str]] = [
    str,
    ascii_json,
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: ascii_json(ascii_json(text)),
    lambda text: ascii_json(text).replace("/", "\\/"),
    quote,
    quote_plus,
    lambda text: quote(text, safe=""),
    lambda text: quote(text, safe="!'()*"),
    lambda text: re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quote(text, safe="")),
]


def secrets(*values: str) -> list[Secret]:
    return [Secret(f"number-{number}", value) for number, value in enumerate(values)]


def is_apart(value: str, *around: str) -> bool:
    """Whether a value is in none of these by chance, nor in what stands in its place."""
    return not any(value in text for text in (*around, reference_to("number-0"), reference_to("number-1")))


@given(VALUES, TEXT, TEXT, st.sampled_from(SPELLINGS))
@example('pass"wörd/ 7', "a", "b", SPELLINGS[1])
@example("pass word", "", "", quote_plus)
@example("a😀b\\c\n", "", "", SPELLINGS[3])
def test_a_value_becomes_its_reference_all_else_stays(value: str, before: str, after: str, spell: Callable[[str], str]) -> None:
    spelled = spell(value)
    assume(Redaction(secrets(value)).text(before + "\x01" + after) == before + "\x01" + after)
    found = Redaction(secrets(value)).text(f"{before}\x01{spelled}\x01{after}")
    assume(is_apart(value, before, after) and not value.startswith("\x01") and not value.endswith("\x01"))
    assert found == f"{before}\x01${{credential:number-0}}\x01{after}"


@given(VALUES, st.binary(max_size=9), st.binary(max_size=9), st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
def test_no_base64_digit_of_a_part_is_left(value: str, before: bytes, after: bytes, encode: Callable[[bytes], bytes]) -> None:
    whole = encode(before + value.encode() + after).decode().rstrip("=")
    start, end = len(before) * 8 // 6, -(-(len(before) + len(value.encode())) * 8 // 6)
    found = Redaction(secrets(value)).text(f"Basic {whole}")
    assume(found.count("${credential:number-0}") == 1)
    assert found == f"Basic {whole[:start]}${{credential:number-0}}{whole[end:]}"


@given(VALUES, st.binary(max_size=9), st.binary(max_size=9))
def test_base64_of_it_is_found_wherever_it_begins(value: str, before: bytes, after: bytes) -> None:
    whole = base64.b64encode(before + value.encode() + after).decode()
    assert "${credential:number-0}" in Redaction(secrets(value)).text(whole)


@given(TANGLED, TANGLED, st.text('ab\\"/%2 \n', max_size=40))
def test_of_values_that_overlap_none_is_left(one: str, other: str, text: str) -> None:
    assume(is_apart(one) and is_apart(other))
    left = Redaction(secrets(one, other)).text(f"{one}{text}{other}{one[:2]}{other}")

    for value in (one, other):
        assert all(
            value not in part
            for part in left.replace("${credential:number-1}", "${credential:number-0}").split("${credential:number-0}")
        )


@given(
    VALUES,
    st.recursive(st.none() | st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)),
)
def test_json_holds_none_wherever_it_stood(value: str, other: Any) -> None:
    document = {"deep": [{"x": f"is {value}!"}, other], value: {"inner": [json.dumps({"key": value})]}}
    found = Redaction(secrets(value)).value(document)
    assert found["deep"][0] == {"x": "is ${credential:number-0}!"} or not is_apart(value, "is !")
    assert value not in texts_of(found) or not is_apart(value, texts_of(other), 'deep x is inner key !{}[]":, ')
    assert len(found) == 2 or not is_apart(value, "deep")


def texts_of(value: Any) -> str:
    match value:
        case str():
            return f"{value}\x02"
        case dict():
            return "".join(f"{key}\x02{texts_of(inner)}" for key, inner in value.items())
        case list():
            return "".join(map(texts_of, value))
        case _:
            return ""


@given(st.lists(TEXT), VALUES)
def test_what_holds_none_stays_the_same(texts: list[str], value: str) -> None:
    document = {"texts": texts, "number": 4.5, "flag": True, "nothing": None}
    assume(is_apart(value, json.dumps(document), json.dumps(document, ensure_ascii=False), *texts))
    assume(not any(Redaction(secrets(value)).text(text) != text for text in texts))
    assert Redaction(secrets(value)).value(document) == document
    assert Redaction([]).value(document) == document


def test_a_number_that_is_a_secret_becomes_its_reference_and_others_stay_numbers() -> None:
    found = Redaction([Secret("pin", "48151623")]).value({"a": 48151623, "b": 4815, "c": -48151623.5, "d": True})
    assert found == {"a": "${credential:pin}", "b": 4815, "c": "-${credential:pin}.5", "d": True}


def test_what_overlaps_itself_or_lies_within_another_goes_as_one_piece() -> None:
    assert Redaction([Secret("x", "abab")]).text("-ababab-") == "-${credential:x}-"
    whole = Redaction([Secret("long", "abcdefgh"), Secret("part", "cdef")]).text("<abcdefgh>")
    assert whole == "<${credential:long}${credential:part}>"
    ends = Redaction([Secret("one", "abcdef"), Secret("two", "defghi")]).text("<abcdefghi>")
    assert ends == "<${credential:one}${credential:two}>"


def test_units_of_two_halves_are_found_in_capitals() -> None:
    value = "grüße-😀-welt"
    assert Redaction([Secret("x", value)]).text(f"<{large_digits(value)}>") == "<${credential:x}>"


def test_a_text_of_ten_megabytes_is_looked_through_in_a_moment() -> None:
    redaction = Redaction(secrets(*(f"value number {number}" for number in range(20))))
    text = "nothing of it is here, " * 450_000 + "value number 7"
    assert redaction.text(text).endswith("here, ${credential:number-7}")
