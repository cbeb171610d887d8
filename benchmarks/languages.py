"""Are sentences found in other languages as well as by the usual means for each?

XQuAD's paragraphs (https://github.com/google-deepmind/xquad) as sentences; relevant are those of a question's paragraph that hold
its answer. Beside this project's keywords: whole words, words by the Snowball stemmer of the language, and stretches of four
characters, each by the same BM25.

    python -m benchmarks.languages --data FOLDER [--json FILE]

FOLDER has `xx.corpus.jsonl` and `xx.queries.jsonl` for each language. Figures are recall@10 and nDCG@10 times 100. `ms` is CPU
time a question, `entries` the occurrences that an index holds for each sentence.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import Stemmer

from benchmarks.harness import Row, json_lines, parser_of, told
from benchmarks.quality import K, columns, mean
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.inverted import Bm25Index
from hive_mind.ranking.tokens import question_terms, tokenize

GRAM_CHARACTERS = 4
SENTENCE_END = re.compile(r"(?<=[.!?؟۔।])[\"'”“»’)\]]*\s+|(?<=[。！？])")
WORD = re.compile(r"\w+")
# Of other languages none is tried.
STEMMERS = {
    "ar": "arabic",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "hi": "hindi",
    "ro": "romanian",
    "ru": "russian",
    "tr": "turkish",
}
Terms = Callable[[str], Iterable[str]]


@dataclass(frozen=True)
class Sentence:
    """One document, as an index takes it."""

    content: str
    concept: str = ""
    said_at: str = ""
    speaker: str = ""
    before: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Collection:
    """Sentences, and for each question the numbers of those that answer it."""

    sentences: Sequence[str]
    questions: Sequence[tuple[str, frozenset[str]]]


def collection(data: Path, language: str) -> Collection:
    sentences: list[str] = []
    places: dict[str, range] = {}
    for row in json_lines(data / f"{language}.corpus.jsonl"):
        parts = [part.strip() for part in SENTENCE_END.split(row["text"]) if part and part.strip()]
        places[row["_id"]] = range(len(sentences), len(sentences) + len(parts))
        sentences += parts
    questions = []
    for row in json_lines(data / f"{language}.queries.jsonl"):
        near = [number for paragraph in row["qrels"] for number in places[paragraph]]
        if relevant := frozenset(str(number) for number in near if row["meta"]["answer"] in sentences[number]):
            questions.append((row["text"], relevant))
    return Collection(sentences, questions)


def words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def four_grams(text: str) -> list[str]:
    bounded = [f"_{word}_" for word in words(text)]
    return [word[i : i + GRAM_CHARACTERS] for word in bounded for i in range(max(1, len(word) - GRAM_CHARACTERS + 1))]


def ways(language: str) -> dict[str, tuple[Callable[[str], dict[str, float]], Terms]]:
    """For each way to search: the terms of a sentence with their weights, and those of a question."""
    plain: dict[str, Terms] = {"words": words, "four-grams": four_grams, "tokenize": tokenize}
    if name := STEMMERS.get(language):
        stemmer = Stemmer.Stemmer(name)
        plain["snowball"] = lambda text: stemmer.stemWords(words(text))
    counted = {way: (lambda text, terms=terms: dict(Counter(terms(text))), terms) for way, terms in plain.items()}
    return {**counted, "ours": (lambda text: weighted_terms(Sentence(text)), question_terms)}


def figures(texts: Collection, indexed: Callable[[str], dict[str, float]], asked: Terms) -> dict[str, float]:
    index, entries = Bm25Index(), 0
    for number, sentence in enumerate(texts.sentences):
        terms = indexed(sentence)
        entries += len(terms)
        index.add(number, terms)
    began, best = process_time(), []
    for question, _ in texts.questions:
        scores = index.matched(asked(question)).scores
        order = np.lexsort((np.arange(len(scores)), -scores))[:K]
        best.append([str(number) for number in order.tolist() if scores[number] > 0])
    spent_s = process_time() - began
    found = columns(zip(best, (dict.fromkeys(relevant, 1) for _, relevant in texts.questions), strict=True))
    return {
        "R@10": mean(found["recall"]),
        "nDCG@10": mean(found["ndcg"]),
        "ms": 1000 * spent_s / len(texts.questions),
        "entries": entries / len(texts.sentences),
    }


def main() -> None:
    options = parser_of(__doc__, "data", "json").parse_args()
    told(measured(options.data), options.json)


def measured(data: Path) -> Iterator[Row]:
    for path in sorted(data.glob("*.corpus.jsonl")):
        language = path.name.partition(".")[0]
        texts = collection(data, language)
        for way, (indexed, asked) in ways(language).items():
            yield {"language": language, "way": way, "sentences": len(texts.sentences), **figures(texts, indexed, asked)}


if __name__ == "__main__":
    main()
