"""Putting the demo's questions to an agent, and showing how well they were answered; for one agent and for several."""

from collections.abc import Sequence

from hive_mind.agents.agent import LearningAgent
from hive_mind.cli.asking.quick_ask import show_answer
from hive_mind.cli.output import plain, show, show_prose, show_table
from hive_mind.evals.demo import DemoQuestion, DemoResult, Summary, outcome
from hive_mind.model.gathered import Answer
from hive_mind.model.query import Query
from hive_mind.runtime.replies import answer_reply

MEASURED_HITS = 5
_SOURCES_SHOWN = 2

_LEGEND = """\
found@5: share of the evidence that is among the first five facts found. MRR: 1 / place of the first of it, averaged. \
answered: the answer holds what was asked for. "don't know": the agent declined to answer, which is right for the \
unanswerable questions and a miss for the others."""


async def ask(agent: LearningAgent, question: DemoQuestion) -> tuple[Answer, DemoResult]:
    """Put one question to an agent and judge its answer."""
    answer = await agent.answer_question(question.question)
    hits = await agent.memory.search_facts(Query(question.question, MEASURED_HITS))
    return answer, outcome(question, hits, answer)


def show_question(question: DemoQuestion, answer: Answer) -> None:
    """A question, its answer, and the first facts that rests on."""
    show(f"\nQ  {question.question}", style="bold")
    reply = plain(answer_reply(answer, ""))
    show_answer(reply | {"sources": reply["sources"][:_SOURCES_SHOWN]}, own="")


def show_summary(summary: Sequence[Summary]) -> None:
    """A line per kind of question."""
    show(f"\nHow well it found and answered all {summary[-1].questions} questions", style="bold")
    titles = ["kind", "questions", f"found@{MEASURED_HITS}", "MRR", "answered", "“don't know”"]
    show_table(titles, [_row(line) for line in summary], right=range(1, len(titles)))
    show_prose(_LEGEND, style="dim")


def _row(summary: Summary) -> tuple[str, ...]:
    recall, rank = ("–" if value is None else f"{value:.2f}" for value in (summary.recall, summary.reciprocal_rank))
    return summary.kind, str(summary.questions), recall, rank, str(summary.right), str(summary.unknown)


def plain_result(question: DemoQuestion, answer: Answer, result: DemoResult) -> dict[str, object]:
    return {
        "id": question.id,
        "kind": question.kind,
        "question": question.question,
        "answer": answer.text,
        "sources": [list(hit.fact.sources) for hit in answer.sources],
        "recall": result.recall,
        "reciprocal_rank": result.reciprocal_rank,
        "is_right": result.is_right,
    }
