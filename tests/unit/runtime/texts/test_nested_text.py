"""A value of JSON or YAML is learned with all keys above it: without them "port: 5432" is nobody's."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.runtime.texts.nested_text import nested_text
from hive_mind.runtime.texts.text_files import TOO_NESTED, read_text
from tests.unit.cognition.reading import statements

JSON = """{"service": {"database": {"host": "db-7", "port": 5432}, "features": ["chat", "maps"]},
\t"alerts": [{"name": "ClockSkew", "after_ms": 500}, {"after_ms": 9}], "note": "\\ud83d\\ude00 fine"}"""
YAML = """# Settings of the ferry
service:
  database:
    host: db-7   # the replica
    port: 5432
---
limits: [1, 2]
text: |
  one
  two
"""


def test_each_value_of_json_has_its_path():
    assert nested_text(JSON).split("\n\n") == [
        "service.database.host: db-7",
        "service.database.port: 5432",
        "service.features: chat, maps",
        "alerts.ClockSkew.name: ClockSkew",
        "alerts.ClockSkew.after_ms: 500",
        "alerts.2.after_ms: 9",
        "note: \N{GRINNING FACE} fine",
    ]


def test_comments_of_yaml_stay_where_they_were():
    assert nested_text(YAML).split("\n\n") == [
        "Settings of the ferry",
        "service.database.host: db-7 (the replica)",
        "service.database.port: 5432",
        "limits: 1, 2",
        "text: one two",
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("name: Noor Haddad\noffice: {city: Lyon}", ["name: Noor Haddad", "Noor Haddad.office.city: Lyon"]),
        ('{"version": "1.3.0", "title": "left-pad"}', ["left-pad.version: 1.3.0", "title: left-pad"]),
        ("name: {first: Noor}\nrole: hydrologist", ["name.first: Noor", "role: hydrologist"]),
        (f"name: {'long ' * 20}\nrole: hydrologist", [f"name: {'long ' * 20}".strip(), "role: hydrologist"]),
    ],
)
def test_values_of_a_document_that_has_a_name_are_of_that(text: str, lines: list[str]):
    assert (nested_text(text) or "").split("\n\n") == lines


def test_each_becomes_a_fact_of_its_own():
    assert "service.database.port: 5432" in statements(nested_text(YAML) or "")


@pytest.mark.parametrize("text", ["", "no keys at all", "{broken", "a: [b", "\t\ta: 1", "[" * 5_000, "- 1\n- 2"])
def test_what_is_neither_stays_as_it_is(text: str):
    assert nested_text(text) == text


def test_anchors_make_no_small_file_large():
    bomb = "a0: &a0 {k: v}\n" + "".join(
        f"a{n}: &a{n} {{{', '.join(f'k{m}: *a{n - 1}' for m in range(9))}}}\n" for n in range(1, 9)
    )
    assert nested_text(bomb) is None
    assert nested_text("x: &x [*x]") is None


def test_files_are_read_so_by_their_ending(tmp_path: Path):
    for name in ("a.json", "a.yaml", "a.txt"):
        (tmp_path / name).write_text('{"a": {"b": 1}}')
    assert [read_text(tmp_path / name) for name in ("a.json", "a.yaml", "a.txt")] == ["a.b: 1", "a.b: 1", '{"a": {"b": 1}}']


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=9), lambda inner: st.dictionaries(st.text(max_size=5), inner, max_size=3)
    )
)
def test_any_json_is_read(value: object):
    nested_text(json.dumps(value))


def test_a_large_file_is_not_taken_apart_only_to_be_refused(monkeypatch: pytest.MonkeyPatch):
    made = []
    monkeypatch.setattr("yaml.compose_all", lambda *given: made.append(given) or [])

    assert nested_text("".join(f"key{n}: {n}\n" for n in range(50_001))) is None
    assert not made
    nested_text("port: 5432")
    assert made


def test_a_file_of_too_many_values_is_refused_and_not_learned_without_its_keys(tmp_path: Path):
    (tmp_path / "dump.json").write_text(json.dumps([{"id": n, "of": "x" * 40} for n in range(40_000)]))
    assert read_text(tmp_path / "dump.json") == TOO_NESTED
