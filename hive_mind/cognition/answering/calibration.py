"""Calibration: the weights by which `likelihood` judges, and from which odds on a fact is quoted.

Made by `python -m benchmarks.deciding --data DATA --calibrate`, `MEANING` with `--embed` and MiniLM, from half of the articles of
SQuAD 2.0, XQuAD and HotpotQA, half of LoCoMo's conversations, a generated corpus and two asking sets; docs/howto/answers.md has
what they reach on the other halves.
"""

from collections.abc import Mapping

from hive_mind.model.query import Answering

LEAST_ODDS: Mapping[Answering, float] = {"careful": -0.2, "balanced": -0.7, "eager": -1.6}
"""Logarithm of the odds from which on a fact answers. Raise them, and less is answered, and less of it wrongly."""

WORDS: Mapping[str, float] = {
    "own": 2.57,
    "alike": 3.6,
    "headed": 1.37,
    "keyword": 0.62,
    "name_unseen": -1.77,
    "contradicted": -1.14,
    "replaced": -0.43,
    "denied": -1.19,
    "form_missed": -0.8,
    "said_by_other": -2.92,
    "of_other_source": -2.46,
    "rank": 3.26,
    "rules": 2.1,
    "sure": 1.61,
    "about": 0.35,
    "intercept": -5.83,
}
MEANING: Mapping[str, float] = {
    "own": 2.53,
    "alike": 3.02,
    "headed": 1.28,
    "keyword": 0.26,
    "name_unseen": -1.36,
    "contradicted": -2.18,
    "replaced": -0.32,
    "denied": -0.85,
    "form_missed": -1.28,
    "said_by_other": -2.64,
    "of_other_source": -0.48,
    "rank": 3.08,
    "rules": 2.0,
    "sure": 1.71,
    "about": 0.36,
    "meaning": 3.13,
    "intercept": -6.47,
}
"""The same where facts are embedded, so that the search ranks by meaning too."""
SECOND_LOOK: Mapping[str, float] = {"intercept": -0.2, "words": 0.53, "logit": 0.17}
