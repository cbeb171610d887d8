"""A secret shows itself to nobody who did not ask for it, and what can't be a credential is refused without being repeated."""

import copy
import json
import logging
import pickle
from dataclasses import asdict, dataclass

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict

from hive_mind.credentials import VALUE_BYTES_MAX, Secret, checked_name, checked_value
from hive_mind.errors import InvalidInput

VALUE = "sw0rdfish-7"
SECRET = Secret("tickets", VALUE)


@dataclass(frozen=True)
class Holder:
    secret: Secret


class Model(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    secret: Secret


def logged() -> str:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "%s %r", (SECRET, SECRET), None)
    return logging.Formatter().format(record)


def test_what_prints_formats_or_logs_it_shows_its_reference() -> None:
    shown = [repr(SECRET), str(SECRET), f"{SECRET}", f"{SECRET:>40}", f"{SECRET!r}", f"{SECRET:<40}", logged(), repr([SECRET])]
    shown += [
        repr(Holder(SECRET)),
        repr(asdict(Holder(SECRET))),
        repr(Model(secret=SECRET)),
        json.dumps({"x": SECRET}, default=str),
    ]

    assert [text for text in shown if VALUE in text or "tickets" not in text] == []
    assert str(SECRET) == "${credential:tickets}"


@pytest.mark.parametrize(
    "encode",
    [
        json.dumps,
        pickle.dumps,
        lambda secret: pickle.dumps(Holder(secret), 0),
        msgspec.json.encode,
        msgspec.to_builtins,
        lambda secret: Model(secret=secret).model_dump_json(),
        lambda secret: secret.__getstate__(),
        vars,
    ],
)
def test_what_would_write_it_down_fails_without_showing_it(encode: object) -> None:
    with pytest.raises(Exception, match=r".") as failed:
        encode(SECRET)  # type: ignore[operator]
    assert VALUE not in str(failed.value)


def test_only_who_asks_gets_the_value_also_of_a_copy() -> None:
    assert [one.reveal() for one in (SECRET, copy.copy(SECRET), copy.deepcopy([SECRET])[0])] == [VALUE] * 3


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a_b", "a b", "a.b", "x" * 64, "ä", "a\n", "Sw0rdfish_7"])
def test_a_name_is_one_that_is_a_variable_too_and_what_was_given_for_one_by_mistake_is_not_repeated(name: str) -> None:
    with pytest.raises(InvalidInput, match="lower-case letters") as refused:
        checked_name(name)
    assert len(name) < 5 or name not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("abc", "4 characters"),
        ("", "4 characters"),
        ("ab\0cd", "not text"),
        ("ab\ud800cd", "not text"),
        ("é" * (VALUE_BYTES_MAX // 2 + 1), "larger than 64 kB"),
        ("credential", "is a part of"),
        ("tickets", "is a part of"),
    ],
)
def test_a_value_that_could_not_be_kept_out_of_texts_is_refused_and_not_repeated(value: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        checked_value("tickets", value)
    assert len(str(refused.value)) < 200


def test_four_characters_and_64_kb_are_taken() -> None:
    assert [checked_value("a", value) for value in ("äbcd", "x" * VALUE_BYTES_MAX)] == ["äbcd", "x" * VALUE_BYTES_MAX]
