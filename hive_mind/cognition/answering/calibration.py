"""Calibration: the weights by which `likelihood` judges, and from which odds on a fact is quoted.

Made by `python -m benchmarks.deciding --data DATA --calibrate` from half of the articles of SQuAD 2.0, XQuAD and HotpotQA, half
of LoCoMo's conversations and a generated corpus; docs/howto/answers.md has what they reach on the other halves.
"""

from collections.abc import Mapping

from hive_mind.model.query import Answering

LEAST_ODDS: Mapping[Answering, float] = {"careful": -0.8, "balanced": -1.2, "eager": -2.2}
"""Logarithm of the odds from which on a fact answers. Raise them, and less is answered, and less of it wrongly."""

BEYOND_RULES = 1.2
"""How much more odds a fact needs that the rules of `relevance` don't accept: by hand, so that no more answers are wrong."""

WORDS: Mapping[str, float] = {
    "own": 1.92,
    "alike": 3.47,
    "around": 0.81,
    "keyword": 0.7,
    "name_unseen": -0.22,
    "word_unseen": 1.0,
    "number_missed": -0.93,
    "replaced": -0.32,
    "denied": -1.98,
    "form_missed": -0.94,
    "said_by_other": -2.39,
    "lead": 2.01,
    "rank": 2.37,
    "terms": -0.34,
    "rules": 1.18,
    "sure": 1.74,
    "about": 0.86,
    "intercept": -5.31,
}
SECOND_LOOK: Mapping[str, float] = {"intercept": -0.7, "words": 0.36, "logit": 0.23}
