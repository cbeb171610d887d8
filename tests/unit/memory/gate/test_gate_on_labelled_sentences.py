"""The gate on labelled sentences that people might say: what it misses and what it holds back for nothing, within bounds."""

import pytest

from benchmarks.gate import PARTS, PRIVATE, Figures, figures, sentences


@pytest.fixture(scope="module")
def counted() -> dict[str, Figures]:
    return {part: figures(sentences(part)) for part in PARTS}


@pytest.mark.parametrize(
    ("part", "share"),
    [
        ("development", 0.98),
        ("held_out", 0.98),
        ("unseen", 0.9),
        *((part, 0.97) for part in ("disguised", "masked", "masked_fresh")),
    ],
)
def test_secrets_and_personal_data_are_kept_home(counted: dict[str, Figures], part: str, share: float):
    assert counted[part].share(*PRIVATE) >= share


@pytest.mark.parametrize("part", PARTS)
def test_harmless_sentences_with_the_same_words_are_shared(counted: dict[str, Figures], part: str):
    assert counted[part].share("harmless") <= 0.02


@pytest.mark.parametrize(("part", "share"), [("development", 0.95), ("held_out", 0.95), ("unseen", 0.5)])
def test_small_talk_is_kept_home(counted: dict[str, Figures], part: str, share: float):
    assert counted[part].share("junk") >= share


def test_the_sentences_are_many_and_each_is_there_once():
    told = [one for part in PARTS for one in sentences(part)]

    assert len({one.text for one in told}) == len(told)
    assert sum(one.kind in PRIVATE for one in told) >= 400
    assert sum(one.kind == "harmless" for one in told) >= 200
    assert {one.language for one in told} >= {"en", "de", "fr", "es", "it", "pt"}
