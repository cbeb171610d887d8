"""One question put to one arm, scored, and written as a row: with nothing in it that a clock or the machine decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from hive_mind.embed.base import Embedder
from hive_mind.errors import HiveError
from hive_mind.evals.answers.answering import Answerer, GivenAnswer
from hive_mind.evals.answers.judging import GroundingJudge
from hive_mind.evals.answers.scoring import GROUNDED, Figures, answered_figures, score, shown_scores
from hive_mind.evals.answers.spending import since
from hive_mind.evals.arms.base import ArmResult, OpenArm
from hive_mind.evals.arms.keeping import by_texts, firsts_of, texts_found
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.evals.experiments.values import ArmKind
from hive_mind.evals.rows import Row, Timing
from hive_mind.llm.base import Usage
from hive_mind.model.query import Hit
from hive_mind.tracing import span

# More digits than a reader needs, and fewer than the order of a sum can change.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Asking:
    """The arm to ask and the use of its results. `kinds` are the kinds of source by document."""

    arm: OpenArm
    kind: ArmKind
    limit: int
    kinds: Mapping[str, str]
    embedder: Embedder | None = None
    answerer: Answerer | None = None
    judge: GroundingJudge | None = None


async def put(asking: Asking, question: LabelledQuestion, id: str) -> tuple[Row, Timing]:
    """Ask it. An error with one question becomes a row with that error. The span has the row's id."""
    try:
        with span("eval_question", {"hive.eval.row": id}):
            outcome = await asking.arm.ask(question, asking.limit)
    except HiveError as error:
        return _labelled(Row(id, error=str(error)), question), Timing(id, 0.0, 0.0)
    return await _measured(asking, question, id, outcome)


async def _measured(asking: Asking, question: LabelledQuestion, id: str, outcome: ArmResult) -> tuple[Row, Timing]:
    """The results, answered where there is an answerer, and scored."""
    hits = outcome.hits[: asking.limit]
    before = _spent(asking)
    answer, unanswered = await _answered(asking, question, outcome.hits)
    # The first document of each text, best first.
    found = texts_found(hits, asking.arm.documents)[: asking.limit]
    figures = await _figures(asking, question, found, hits, answer)
    grounded = await _judged(asking, question, answer, outcome.hits)
    row = _row(id, outcome, found, hits, figures | grounded, answer)
    row = msgspec.structs.replace(_paid(row, asking, before), unanswered=unanswered)
    return _labelled(row, question), Timing(id, round(1e3 * outcome.cpu_s, 4), round(1e3 * outcome.wall_s, 4))


def _row(
    id: str,
    outcome: ArmResult,
    found: Sequence[str],
    hits: Sequence[Hit],
    figures: Figures,
    answer: GivenAnswer | None,
) -> Row:
    cost = outcome.cost
    return Row(
        id,
        found=list(found),
        facts=[hit.fact.id for hit in hits],
        scores=[round(score, _DIGITS) for score in shown_scores(hits)],
        metrics={name: None if value is None else round(value, _DIGITS) for name, value in figures.items()},
        answer=answer.text if answer else "",
        messages=cost.messages,
        bytes=cost.bytes,
        fan_out=cost.fan_out,
        completeness=round(cost.completeness, _DIGITS),
    )


def _spent(asking: Asking) -> list[Usage]:
    return [one.spent for one in (asking.answerer, asking.judge) if one]


def _paid(row: Row, asking: Asking, before: Sequence[Usage]) -> Row:
    """With what answering and judging took, whether or not anything came of it. Money only where all of it has a price."""
    spenders = [one for one in (asking.answerer, asking.judge) if one]
    used = [since(then, now) for then, now in zip(before, _spent(asking), strict=True)]
    paid = [spender.usd(usage) for spender, usage in zip(spenders, used, strict=True) if usage.tokens]
    costs = [usd for usd in paid if usd is not None]
    return msgspec.structs.replace(
        row,
        tokens_in=sum(usage.input_tokens for usage in used),
        tokens_out=sum(usage.output_tokens for usage in used),
        usd=sum(costs) if costs and len(costs) == len(paid) else None,
    )


def _labelled(row: Row, question: LabelledQuestion) -> Row:
    return msgspec.structs.replace(
        row, asked=question.text, category=question.category, intent=question.intent, source_bias=question.source_bias
    )


async def _figures(
    asking: Asking, question: LabelledQuestion, found: Sequence[str], hits: Sequence[Hit], answer: GivenAnswer | None
) -> Figures:
    kinds = [_kind(asking, hit) for hit in hits]
    figures = score(
        by_texts(question, firsts_of(asking.arm.documents)),
        found,
        hits,
        kinds,
        await _vectors(asking, hits),
        answer,
        asking.limit,
    )
    if asking.kind != "full-context":
        return figures
    # Everything is no ranking: only what was answered from it can be measured.
    return dict.fromkeys(figures) | answered_figures(question, answer)


def _kind(asking: Asking, hit: Hit) -> str:
    documents = asking.arm.documents.get(hit.fact.id, ())
    return asking.kinds.get(documents[0], "") if documents else ""


async def _vectors(asking: Asking, hits: Sequence[Hit]) -> NDArray[np.float32] | None:
    if asking.embedder is None or not hits:
        return None
    return await asking.embedder.embed_passages([hit.fact.content for hit in hits])


async def _answered(asking: Asking, question: LabelledQuestion, hits: Sequence[Hit]) -> tuple[GivenAnswer | None, str]:
    """No answer where nobody answers, nor where the model did not; then with the reason."""
    if asking.answerer is None:
        return None, ""
    try:
        return await asking.answerer.answer(question, hits), ""
    except HiveError as error:
        return None, str(error)


async def _judged(asking: Asking, question: LabelledQuestion, answer: GivenAnswer | None, hits: Sequence[Hit]) -> Figures:
    if asking.judge is None:
        return {}
    verdict = None if answer is None else await asking.judge.is_grounded(question, answer, hits)
    return {GROUNDED: None if verdict is None else float(verdict)}
