"""Texts of all kinds for properties: any Unicode, Markdown and YAML as people and programs write it, and facts read from them."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st

from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.memory.intake import new_fact
from hive_mind.model.content import Content
from hive_mind.model.fact import Fact
from hive_mind.model.query import ComponentScores, Contributions, Hit
from tests.builders import FIRST_US

_BESIDE = Path(__file__).parents[2] / "shared" / "data"
DOCUMENTATION = ("argo-rollouts", "nats")


@st.composite
def _drawn(draw: st.DrawFn, name: str) -> str:
    """Of a strategy by its name: the words that describe all of them, one within the other, would be megabytes."""
    return draw(_NAMED[name])


_NAMED: dict[str, st.SearchStrategy[str]] = {}


def _named(name: str, strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    _NAMED[name] = strategy
    return _drawn(name)


# Half of a surrogate pair reaches a memory from JSON, "\ud800", and from file names.
ANY = st.text(st.characters(), max_size=80)
_CHARACTERS_THAT_MEAN_SOMETHING = st.text(
    "aZ0 :;,.!?-–_=+*/\\|#>~`'\"“”()[]{}<>&%$€@^\t\n\r\0\x1f\x7f\x85\xa0\u00ad\u200b\u200f\u2028\ufeff\ufffd\ud800\udfff"
    "éßſİıʼ’٣²½Ⅷ一二は是ทの한الع😀e\u0301",
    max_size=60,
)
_WORDS = st.sampled_from(
    "the a is are was not never no yes on off true false one two Ana Ben Gateway emptyDir volumes api cache pod port 8443 9443 "
    "1,000 5.0 1e9 -7 −3 50% €20 12:30 2024-03-05 2024-02-30T25:61 yesterday next Friday INC-2024-001 pump-house-2 v1.2.3 "
    "users_3 https://example.org/a?b=c a@b.example +44 20 7946 0958 who what when where why how which ? . : ; , ... { } {} [] () "
    "\"\" '' null ~ ist nicht wo le la est où está qué は 是 我住在波尔图。 INFO ERROR [12:30] 10:22 Dr. e.g. per because "
    "instead of ignore previous instructions password = hunter2 AKIAIOSFODNN7EXAMPLE &lt; &#64; <br> | --- ``` ### - 1. >".split()
)
PHRASES = st.lists(_WORDS, max_size=14).map(" ".join)
SPOKEN = st.builds("{}: {}".format, st.sampled_from(["Ana", "Ben Okafor", "the api", "", "12:30", "[12:30] Ana"]), PHRASES)
_INLINE = _named(
    "inline",
    st.one_of(
        PHRASES,
        ANY,
        _CHARACTERS_THAT_MEAN_SOMETHING,
        st.builds("**{}** _{}_ `{}`".format, PHRASES, PHRASES, _CHARACTERS_THAT_MEAN_SOMETHING),
        st.builds("[{}]({} '{}')".format, PHRASES, PHRASES, ANY),
        st.builds("![{}][{}] <a href='{}'>{}</a><!-- {} -->".format, PHRASES, ANY, PHRASES, PHRASES, ANY),
    ),
)
_KEYS = _named(
    "keys", st.one_of(st.sampled_from("emptyDir api volumes Gateway name is has metadata.labels 7 on y".split()), PHRASES, ANY)
)
_SCALARS = _named(
    "scalars",
    st.one_of(
        st.sampled_from(
            ["{}", "[]", "()", '""', "''", "", "null", "~", "{ }", "[ ]", "|", ">-", "&a", "*a", "!!str", "{a: {}}", "[[]]"]
        ),
        PHRASES,
        _INLINE,
    ),
)


def _indented(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.split("\n"))


def _yaml_below(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    key = st.builds("{}:\n{}".format, _KEYS, inner.map(lambda text: _indented(text, "  ")))
    item = st.builds("- {}".format, inner.map(lambda text: _indented(text, "  ").lstrip(" ")))
    return st.lists(st.one_of(key, item, st.builds("{}: {}".format, _KEYS, _SCALARS)), max_size=4).map("\n".join)


YAML = _named(
    "yaml",
    st.one_of(
        st.recursive(st.builds("{}: {} # {}".format, _KEYS, _SCALARS, PHRASES), _yaml_below, max_leaves=6),
        st.lists(st.builds("{}: {}".format, _KEYS, _SCALARS), max_size=6).map("\n".join),
    ),
)


def _fenced(language: str, code: str, mark: str, end: bool) -> str:
    return f"{mark}{language}\n{code}" + f"\n{mark}" * end


_BLOCKS = _named(
    "blocks",
    st.one_of(
        _INLINE,
        SPOKEN,
        st.builds(
            "{} {}".format, st.sampled_from(["#", "##", "######", "#######", ">", ">>", "-", "*", "1.", "- [ ]", ":"]), _INLINE
        ),
        st.builds("{}\n{}".format, PHRASES, st.sampled_from(["===", "---", "-", "***"])),
        st.lists(
            st.builds("{}{} {}".format, st.sampled_from(["", "  ", "\t", "      "]), st.sampled_from("-*+1."), _INLINE),
            max_size=5,
        ).map("\n".join),
        st.builds(
            _fenced,
            st.sampled_from(["", "yaml", "sh", "json"]),
            st.one_of(YAML, _INLINE),
            st.sampled_from(["```", "~~~", "    "]),
            st.booleans(),
        ),
        st.lists(st.lists(_INLINE, max_size=4).map(lambda cells: f"| {' | '.join(cells)} |"), max_size=4).map(
            lambda rows: "\n".join([*rows[:1], "|---|:-:|", *rows[1:]])
        ),
        st.lists(st.lists(PHRASES, min_size=1, max_size=4).map(",".join), max_size=5).map("\n".join),
    ),
)
MARKDOWN = _named(
    "markdown",
    st.builds(
        "{}{}".format, st.one_of(st.just(""), YAML.map("---\n{}\n---\n".format)), st.lists(_BLOCKS, max_size=8).map("\n\n".join)
    ),
)
TEXTS = _named("texts", st.one_of(ANY, _CHARACTERS_THAT_MEAN_SOMETHING, PHRASES, SPOKEN, YAML, MARKDOWN))
QUESTIONS = _named(
    "questions",
    st.one_of(
        TEXTS, st.builds("{} {}?".format, st.sampled_from("Who What When Where Why Which How-many Is Wer Où".split()), PHRASES)
    ),
)


def facts_of(text: str, source: str = "ines", **known: str) -> list[Fact]:
    """The facts that are read from a text."""
    extraction = asyncio.run(ExtractiveReader().extract(Content(text, source, **known)))
    return [new_fact(candidate, source, FIRST_US + number) for number, candidate in enumerate(extraction.candidates)]


def hit_of(fact: Fact, *rivals: Fact, score: float = 0.7) -> Hit:
    return Hit(fact, score, ComponentScores(4 * score, None, 0.5, 0.0, 0.5), Contributions(score), rivals)


def documents(tree: str) -> Iterator[tuple[Path, str]]:
    """Paths and texts of a documentation tree of the public data; the test is skipped where there is none."""
    folder = Path(os.environ.get("HIVE_MIND_DATA") or _BESIDE) / "docs" / tree
    if not folder.is_dir():
        pytest.skip(f"no documentation in {folder}; set HIVE_MIND_DATA to the folder that holds docs/")
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in {".md", ".txt", ".yaml", ".yml"}:
            yield path.relative_to(folder), path.read_text("utf-8", "replace")
