"""Does an agent that quotes know when it doesn't know? Questions that its memory answers, and others, at three positions.

SQuAD 2.0 and XQuAD (English) through `learn`, HotpotQA, LoCoMo's turns, generated corpora and the asking sets of
`benchmarks.learning`, in RAM, by words or with `--embed` by meaning too. `ood`: of articles that the memory lacks, or of another
conversation; `trick`: SQuAD's questions that their paragraph seems to answer; `adversarial`: LoCoMo's, where somebody else said
it. Half of the articles and conversations calibrate, the others are reported.

    python -m benchmarks.deciding --data DATA [--embed MODEL] [--most 200] [--calibrate] [--second-look FOLDER] [--curve]
    python -m benchmarks.deciding --documentation NAME=FOLDER … [--embed MODEL]

`--calibrate` fits the weights anew (scikit-learn) and prints them as `hive_mind/cognition/answering/calibration.py` has them, and
whether it has these; `--second-look` also asks the cross-encoder of `benchmarks.ms_marco` about the four likeliest facts.
"""

import argparse
import asyncio
import json
import math
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks import learning
from benchmarks.answers import agent_named, exchange, fact_of, keep_turns, percent, settings_with
from benchmarks.harness import json_lines, parser_of, tell, write
from benchmarks.ms_marco import MsMarco, fetched
from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.answering import likelihood
from hive_mind.cognition.answering.calibration import LEAST_ODDS
from hive_mind.cognition.answering.intent import direct, intent_of, parts_of
from hive_mind.cognition.answering.likelihood import FACTS_MIN, FIGURES, evidence_of, likelihoods
from hive_mind.cognition.answering.quoting import QuotingSettings, not_known, quotation, quoted_answer
from hive_mind.cognition.answering.relevance import RelevanceSettings, Relevant, relevant
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.evals.datasets.conversations import load_locomo
from hive_mind.evals.generating import generate
from hive_mind.model.content import Content
from hive_mind.model.gathered import Answer, Question
from hive_mind.model.query import Answering, Hit
from hive_mind.runtime.texts.text_files import is_learned, read_text
from hive_mind.runtime.wiring import open_embedder

# Beyond the best of them, facts are about something else; more would outweigh those that matter.
JUDGED = 10
# What the rules accept is believed more readily than they deserve on Wikipedia, which has no rows, codes and aliases.
# And these sets hardly ever give another year than the one that is asked for, or a name that the memory lacks, as people do.
BONUS = {"rules": 1.0, "sure": 1.5, "contradicted": -2.0, "name_unseen": -1.0, "of_other_source": -2.0}
# So that the same positions answer about as much as without a second look.
LOOK_BONUS = 0.7
LOOKED_AT = 4
# No paragraphs of an article in common.
CALIBRATES = {
    "squad": {"Huguenot", "1973_oil_crisis", "Islamism"},
    "locomo": {"26", "30", "41"},
    "generated": {"1"},
    "asking": {"questions", "held_out"},
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as a reader gets it. `gold`: texts one of which an answer holds; `evidence`: ids of facts that answer."""

    set: str
    part: str
    kind: str
    question: Question
    hits: tuple[Hit, ...]
    gold: tuple[str, ...] = ()
    evidence: frozenset[str] = frozenset()

    @property
    def calibrates(self) -> bool:
        if self.part in CALIBRATES.get(self.set, ()):
            return True
        return self.set not in CALIBRATES and zlib.crc32(self.part.encode()) % 2 == 0

    def is_answered_by(self, hit: Hit) -> bool:
        if self.kind != "answerable":
            return False
        held = f" {worded(hit.fact.content)} "
        return hit.fact.id in self.evidence or any(f" {worded(gold)} " in held for gold in self.gold if worded(gold))


def worded(text: str) -> str:
    return " ".join(re.sub(r"\W+", " ", text.casefold()).split())


class Listening(ExtractiveReader):
    """Remembers what it was to answer from."""

    def __init__(self) -> None:
        super().__init__()
        self.question, self.hits = Question(""), ()

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        self.question, self.hits = question, tuple(hits)
        return not_known(hits)


class Memory:
    """An agent that was taught, whose questions are put down and not answered."""

    def __init__(self, name: str, agent: LearningAgent) -> None:
        self.name, self.agent = name, agent
        self.agent.reader = Listening()

    async def learn(self, paragraphs: Iterable[dict]) -> "Memory":
        for paragraph in paragraphs:
            title = paragraph["meta"].get("title", "")
            await self.agent.learn_from_content(Content(paragraph["text"], title=title, source=paragraph["_id"]))
        return self

    async def ask(self, text: str, part: str, kind: str, gold: Sequence[str] = (), evidence: Iterable[str] = ()) -> Asked:
        self.agent.reader.hits = ()
        await self.agent.answer_question(text)
        reader = self.agent.reader
        return Asked(self.name, part, kind, reader.question, reader.hits, tuple(gold), frozenset(evidence))


def sample(questions: Sequence[dict], most: int) -> list[dict]:
    return sorted(questions, key=lambda one: zlib.crc32(one["_id"].encode()))[:most]


async def articles(name: str, corpus: list[dict], questions: list[dict], part_of, most: int, new) -> list[Asked]:
    """Questions with an answer, tricks, and those put to a memory of the other half of the articles."""
    asked = []
    memory = await new(name).learn(corpus)
    for is_known, kind in ((True, "answerable"), (False, "trick")):
        some = [one for one in questions if one["meta"].get("is_answerable", True) == is_known]
        for one in sample(some, most):
            gold = one["meta"].get("answers") or [one["meta"].get("answer", "")]
            asked.append(await memory.ask(one["text"], part_of(one), kind, gold if is_known else ()))
    parts = sorted({part_of(one) for one in questions})
    for half in (parts[::2], parts[1::2]):
        memory = await new(name).learn(one for one in corpus if part_of({"meta": {"para": one["_id"]}}) in half)
        some = [one for one in questions if part_of(one) not in half and one["meta"].get("is_answerable", True)]
        asked += [await memory.ask(one["text"], part_of(one), "ood") for one in sample(some, most // 2)]
    return asked


async def conversations(data: Path, most: int, new) -> list[Asked]:
    asked = []
    scopes = load_locomo(data / "locomo").scopes
    for scope, other in pairwise([*scopes, scopes[0]]):
        memory = new("locomo")
        await keep_turns(memory.agent, scope, scope.name)
        turns = {document.id: fact_of(document) for document in scope.documents}
        share = most // len(scopes)
        for kind in ("answerable", "adversarial"):
            some = [one for one in scope.questions if (one.category == "adversarial") == (kind == "adversarial")]
            for one in random.Random(0).sample(some, min(share, len(some))):
                evidence = [turns[turn] for turn, judged in one.relevant.items() if judged > 0]
                asked.append(await memory.ask(one.text, scope.name, kind, (), evidence))
        exchanged = exchange(other, scope)
        some = [one for one in other.questions if one.category != "adversarial"]
        for one in random.Random(1).sample(some, min(share, len(some))):
            asked += [await memory.ask(exchanged(one.text), scope.name, "ood")]
    return asked


async def generated(most: int, new) -> list[Asked]:
    asked = []
    for seed in (1, 2):
        (scope,) = generate(1_000, 20, seed).scopes
        memory = new("generated")
        await keep_turns(memory.agent, scope)
        facts = {document.id: fact_of(document) for document in scope.documents}
        for one in random.Random(0).sample(list(scope.questions), min(most, len(scope.questions))):
            evidence = [facts[turn] for turn, judged in one.relevant.items() if judged > 0 and turn in facts]
            asked.append(await memory.ask(one.text, str(seed), "answerable" if one.is_answerable else "trick", (), evidence))
    return asked


async def own_texts(new) -> list[Asked]:
    """The asking sets of `benchmarks.learning`: texts of many kinds, some in German or Japanese."""
    asked = []
    for name in ("questions", "held_out", "fresh", "unseen"):
        memory = new("asking")
        await learning.learned(memory.agent, learning.texts_of(name))
        for one in learning.questions(name):
            put = await memory.ask(one.question, name, "answerable" if one.answer else "ood")
            evidence = frozenset(hit.fact.id for hit in put.hits if one.answer and learning.has(hit.fact, one.answer))
            asked.append(replace(put, evidence=evidence))
    return asked


async def recorded(data: Path, most: int, model: str) -> list[Asked]:
    settings = settings_with(model)
    embedder = await open_embedder(settings)

    def new(name: str) -> Memory:
        return Memory(name, agent_named(name, settings, embedder))

    corpus = {name: json_lines(data / f"{name}.corpus.jsonl") for name in ("squad2/dev", "xquad/en", "hotpotqa")}
    questions = {name: json_lines(data / f"{name}.queries.jsonl") for name in corpus}
    # Five paragraphs in a row are of one article.
    article = {one["_id"]: str(number // 5) for number, one in enumerate(corpus["xquad/en"])}
    for one in questions["xquad/en"]:
        one["meta"]["para"] = next(iter(one["qrels"]))
    asked = await articles(
        "squad", corpus["squad2/dev"], questions["squad2/dev"], lambda q: q["meta"]["para"].partition("/")[0], most, new
    )
    asked += await articles("xquad", corpus["xquad/en"], questions["xquad/en"], lambda q: article[q["meta"]["para"]], most, new)
    memory = await new("hotpot").learn(corpus["hotpotqa"])
    for one in questions["hotpotqa"]:
        if (gold := one["meta"]["answer"]).casefold() not in ("yes", "no"):
            asked.append(await memory.ask(one["text"], one["_id"], "answerable", [gold]))
    asked += [await memory.ask(one["text"], one["_id"], "ood") for one in sample(questions["squad2/dev"], most // 2)]
    return [*asked, *await conversations(data, most, new), *await generated(most, new), *await own_texts(new)]


def current(asked: Asked) -> list[Hit]:
    wants_past = intent_of(direct(asked.question.text)).wants_superseded
    return [hit for hit in asked.hits if wants_past or not hit.fact.superseded_by]


def by_rules(question: str, hits: Sequence[Hit]) -> dict[str, Relevant]:
    return {one.hit.fact.id: one for one in relevant(question, hits, RelevanceSettings())}


def fitted(asked: Sequence[Asked]) -> dict[str, float]:
    """Weights of the figures: of a fact that answers against one that does not, each set and kind counting alike."""
    rows: list[NDArray[np.float64]] = []
    answers: list[bool] = []
    weights: list[float] = []
    counts = defaultdict(int)
    for one in asked:
        counts[one.set, one.kind] += 1
    for one in (one for one in asked if len(one.hits) >= FACTS_MIN):
        text, hits = direct(one.question.text), current(one)
        best = list(zip(hits, evidence_of(text, hits, by_rules(text, hits)), strict=True))[:JUDGED]
        rows += [np.array([getattr(evidence, name) for name in FIGURES]) for _, evidence in best]
        answers += [one.is_answered_by(hit) for hit, _ in best]
        weights += [(1.5 if one.kind == "answerable" else 1.0) / counts[one.set, one.kind] / len(best)] * len(best)
    table = np.array(rows)
    means, spreads = table.mean(axis=0), table.std(axis=0) + 1e-6
    scaled = np.array(weights) * len(weights) / sum(weights)
    model = LogisticRegression(max_iter=3000).fit((table - means) / spreads, answers, sample_weight=scaled)
    weight = model.coef_[0] / spreads
    found = {name: value + BONUS.get(name, 0.0) for name, value in zip(FIGURES, weight.tolist(), strict=True)}
    found["intercept"] = float(model.intercept_[0] - weight @ means)
    # By words nothing is embedded, so meaning has no weight.
    return {name: round(value, 2) for name, value in found.items() if value}


def odds_of(asked: Asked) -> dict[str, float]:
    text, hits = direct(asked.question.text), current(asked)
    return likelihoods([text, *parts_of(text)], hits, by_rules(text, hits))


def looked_at(asked: Asked, model: MsMarco) -> Asked:
    """With what a cross-encoder says of the likeliest facts."""
    odds = odds_of(asked)
    likeliest = sorted(odds, key=odds.__getitem__, reverse=True)[:LOOKED_AT]
    hits = []
    for hit in asked.hits:
        logit = float(model.predict([(asked.question.text, hit.fact.content)])[0]) if hit.fact.id in likeliest else -math.inf
        hits.append(replace(hit, components=replace(hit.components, second_look=1 / (1 + math.exp(-max(logit, -30.0))))))
    return replace(asked, hits=tuple(hits))


def second_look_fitted(asked: Sequence[Asked], first: Sequence[dict[str, float]]) -> dict[str, float]:
    rows, answers = [], []
    for one, odds in zip(asked, first, strict=True):
        for hit in one.hits:
            share = hit.components.second_look or 0.0
            if hit.fact.id in odds and share > 1e-12:
                rows.append([odds[hit.fact.id], max(-10.0, min(10.0, math.log(share / max(1e-9, 1 - share))))])
                answers.append(one.is_answered_by(hit))
    model = LogisticRegression().fit(rows, answers)
    words, logit = model.coef_[0].tolist()
    return {"intercept": round(float(model.intercept_[0]) + LOOK_BONUS, 2), "words": round(words, 2), "logit": round(logit, 2)}


def figures(asked: Sequence[Asked], answering: Answering) -> Iterator[dict[str, object]]:
    """Shares in percent by set and kind: answered, a quote that answers, the first that does; and how much is quoted."""
    settings = QuotingSettings(answering=answering)
    for (name, kind), group in groupby(sorted(asked, key=lambda one: (one.set, one.kind)), key=lambda one: (one.set, one.kind)):
        questions = list(group)
        answers = [(one, quoted_answer(one.question, one.hits, settings)) for one in questions]
        known = [(one, answer.sources) for one, answer in answers if answer.is_known]
        right = [any(map(one.is_answered_by, quotes)) for one, quotes in known]
        first = [bool(quotes) and one.is_answered_by(quotes[0]) for one, quotes in known]
        letters = [sum(len(hit.fact.content) for hit in quotes) for _, quotes in known]
        row: dict[str, object] = {"set": name, "kind": kind, "questions": len(questions), "answering": answering}
        row |= {"answered": percent(len(known), len(questions))}
        if kind == "answerable":
            row |= {"right": percent(sum(right), len(questions)), "first": percent(sum(first), len(questions))}
        if known:
            quotes_mean = sum(len(quotes) for _, quotes in known) / len(known)
            row |= {"quotes": round(quotes_mean, 1), "characters": round(sum(letters) / len(known))}
        yield row


def curve(asked: Sequence[Asked]) -> Iterator[dict[str, object]]:
    """Risk and coverage: what is answered of each kind where one answers from these odds on."""
    best = [(one, odds_of(one)) for one in asked]
    for least in (3.0, 2.0, 1.0, 0.5, 0.0, -0.5, -1.0, -2.0, -3.0):
        row: dict[str, object] = {"odds": least}
        for one, odds in best:
            row.setdefault(f"{one.set} {one.kind}", []).append(max(odds.values(), default=-math.inf) >= least)
        yield {name: percent(sum(value), len(value)) if isinstance(value, list) else value for name, value in row.items()}


async def documented(folders: dict[str, Path], questions: list[dict], answering: Answering, model: str) -> None:
    """Of questions about folders of documents: the first quote holds what is expected, another does, none; rightly declined."""
    settings = settings_with(model)
    embedder = await open_embedder(settings)
    for name, folder in folders.items():
        agent = agent_named(name, settings, embedder)
        agent.reader = ExtractiveReader(quoting=QuotingSettings(answering=answering))
        for path in sorted(path for path in folder.resolve().rglob("*") if is_learned(path)):
            text = read_text(path)
            if isinstance(text, str):
                await agent.learn_from_content(Content(text, source=str(path), title=path.stem))
        row: dict[str, object] = defaultdict(int, {"tree": name, "answering": answering})
        for one in (one for one in questions if one["kind"] == name):
            sources = (await agent.answer_question(one["question"])).sources
            quoted = [quotation(hit, question=one["question"]) for hit in sources]
            what = outcome(one["want"], quoted)
            row[what] += 1
            if what in ("wrong", "declined", "answered though unknown"):
                print(f"  {what}: {one['question']}  want {one['want']!r}  got {(quoted or [''])[0][:100]!r}", flush=True)
        print(dict(row), flush=True)


def outcome(want: str | list[str] | None, quoted: Sequence[str]) -> str:
    """`want`: a text, or several one of which a quote has to hold; None where nothing answers the question."""
    if want is None:
        return "answered though unknown" if quoted else "rightly declined"
    if not quoted:
        return "declined"
    texts = [want] if isinstance(want, str) else want
    is_right = [any(text in quote for text in texts) for quote in quoted]
    return "right" if is_right[0] else "right behind the first" if any(is_right) else "wrong"


def measured(options: argparse.Namespace) -> None:
    asked = asyncio.run(recorded(options.data, options.most, options.embed))
    chosen, held_out = [one for one in asked if one.calibrates], [one for one in asked if not one.calibrates]
    if options.calibrate:
        table = "MEANING" if options.embed else "WORDS"
        in_use, weights = getattr(likelihood, table), fitted(chosen)
        setattr(likelihood, table, weights)
        print(f"{table}: Mapping[str, float] = {json.dumps(weights, indent=4)}")
        print(f"{'as' if weights == in_use else 'unlike'} calibration.py", flush=True)
    rows = [row for answering in LEAST_ODDS for row in figures(held_out, answering)]
    for row in [*rows, *(curve(held_out) if options.curve else ())]:
        tell(row)
    if options.second_look:
        model = MsMarco(fetched(options.second_look))
        if options.calibrate:
            likelihood.SECOND_LOOK = second_look_fitted([looked_at(one, model) for one in chosen], list(map(odds_of, chosen)))
            print("SECOND_LOOK =", json.dumps(likelihood.SECOND_LOOK), flush=True)
        again = [looked_at(one, model) for one in held_out]
        for row in [*(row for answering in LEAST_ODDS for row in figures(again, answering)), *curve(again)]:
            print("second look", row, flush=True)
    write(options.json, rows)


def main() -> None:
    parser = parser_of(__doc__, "json")
    parser.add_argument("--data", type=Path, help="folder with squad2/, xquad/, locomo/ and hotpotqa.*")
    parser.add_argument("--most", type=int, default=200, help="questions of a kind in a set")
    parser.add_argument("--embed", default="", metavar="MODEL", help="also search by meaning, with this model or folder")
    parser.add_argument("--calibrate", action="store_true", help="fit the weights anew and print them")
    parser.add_argument("--curve", action="store_true", help="also what each threshold would answer")
    parser.add_argument("--second-look", type=Path, metavar="FOLDER", help="also with a cross-encoder, kept in this folder")
    parser.add_argument("--documentation", nargs="*", default=[], metavar="NAME=FOLDER", help="ask about these trees instead")
    parser.add_argument("--questions", type=Path, default=Path(__file__).parent / "questions" / "documentation.jsonl")
    parser.add_argument("--answering", choices=LEAST_ODDS, default="balanced", help="position for questions about documentation")
    options = parser.parse_args()
    if options.documentation:
        folders = {name: Path(folder) for name, _, folder in (one.partition("=") for one in options.documentation)}
        asyncio.run(documented(folders, json_lines(options.questions), options.answering, options.embed))
    elif options.data:
        measured(options)
    else:
        parser.error("give --data or --documentation")


if __name__ == "__main__":
    main()
