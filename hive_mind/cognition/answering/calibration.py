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
    "own": 2.59,
    "alike": 3.37,
    "around": 0.64,
    "keyword": 0.63,
    "name_unseen": -1.4,
    "year_contradicted": -0.9,
    "replaced": -0.46,
    "denied": -1.22,
    "form_missed": -0.75,
    "said_by_other": -2.78,
    "rank": 3.52,
    "rules": 2.03,
    "sure": 1.64,
    "about": 0.62,
    "intercept": -6.33,
}
MEANING: Mapping[str, float] = {
    "own": 2.56,
    "alike": 3.81,
    "around": 0.25,
    "keyword": 0.2,
    "name_unseen": -1.6,
    "year_contradicted": -1.13,
    "replaced": -0.3,
    "denied": -1.22,
    "form_missed": -1.1,
    "said_by_other": -2.56,
    "rank": 4.48,
    "rules": 2.05,
    "sure": 1.82,
    "about": 0.41,
    "meaning": 3.43,
    "intercept": -8.05,
}
"""The same where facts are embedded, so that the search ranks by meaning too."""
SECOND_LOOK: Mapping[str, float] = {"intercept": -0.2, "words": 0.53, "logit": 0.17}
