"""`hive-mind judge`: how the judge of an agent's facts and runs does, at any time; and forgetting what it learned.

All of it is read from the agent's ledger, which may be in use meanwhile.
"""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hive_mind.agents.judging.decision_log import JudgeRecord, record_of, reset
from hive_mind.cli import options
from hive_mind.cli.fleet import agent_names
from hive_mind.cli.options import DEFAULT_AGENT, Format, Group, examples, settings_for
from hive_mind.cli.output import say, show, show_json, show_table
from hive_mind.cli.review import ledger_of
from hive_mind.clocks import wall_clock_ms
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.runtime.settings import ledger_path

Agent = Annotated[str, typer.Argument(metavar="AGENT", help="The agent of the judge.", autocompletion=agent_names)]


class _Shows(TyperGroup):
    """A word that is no command is an agent, or an option of `show`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """With `show` before it, where nothing else is called."""
        is_called = args and (args[0] in self.commands or args[0] in ("-h", "--help"))
        return super().parse_args(ctx, args if is_called else ["show", *args])


group = Group(
    name="judge",
    cls=_Shows,
    help="See how the judge of an agent's facts does: how sure, how right, at what cost.",
    epilog=examples("hive-mind judge reader-1", "hive-mind judge reader-1 -o json", "hive-mind judge reset reader-1"),
)


@group.called_as("hive-mind judge show reader-1", "hive-mind judge reader-1 -o json", name="show")
async def show_judge(agent: Agent = DEFAULT_AGENT, home: options.Home = None, output: options.Output = Format.TEXT) -> None:
    """Show how often it asks people, how often rules decide, how sure and how right it is, and what it costs.

    How right it is follows from people's answers to its questions and to audits; an audit counts for all the facts it stands for.
    So does the weight of each signal: how far its confidence is to be believed beside that of the others.
    """
    async with ledger_of(settings_for(home, embed="none"), agent) as ledger:
        record = await record_of(ledger)
    if output is Format.JSON:
        show_json({"agent": agent} | document_of(record))
    elif not record.tally.judged:
        show(f"Nothing was judged for {agent} yet: runs are, and with `judge: {{facts: model}}` in a manifest facts.")
    else:
        show_table(["", "", ""], _rows(record), right=[1])
        right = record.calibration.accept_accuracy_by_confidence
        rows = [
            (f"{sure:.1f}", f"{count:,}", _share(right[sure]) if sure in right else "–")
            for sure, count in sorted(record.tally.by_confidence.items())
        ]
        if rows:
            show()
            show_table(["sure", "judgements", "people agree"], rows, right=[0, 1, 2])
        decisions = record.weights.decisions_by_goal_type
        weights = [
            (kind, signal, f"{weight:.2f}", f"{decisions[kind]:,}")
            for kind, row in record.weights.weights_by_goal_type.items()
            for signal, weight in row.items()
        ]
        if weights:
            show()
            show_table(["goal", "signal", "weight", "decisions"], weights, right=[2, 3])
            if not record.are_weights_used:
                show("Signals count alike so far: `judge: {weights: learned}` in a manifest weighs them.")


@group.called_as("hive-mind judge reset reader-1", name="reset")
async def reset_judge(agent: Agent = DEFAULT_AGENT, home: options.Home = None) -> None:
    """Reset how sure it has to be to what the manifest says, and weigh signals alike; earlier decisions no longer count.

    A running agent does so before it judges the next facts.
    """
    settings = settings_for(home, embed="none")
    if not ledger_path(settings, agent).exists():
        raise InvalidInput(f"nothing was ever judged for {agent!r} here; `hive-mind get agents` lists the agents")
    async with ledger_of(settings, agent) as ledger:
        await reset(ledger, wall_clock_ms())
    say(f"{agent}: the threshold of the manifest holds again")


def document_of(record: JudgeRecord) -> dict[str, Any]:
    tally, calibration = record.tally, record.calibration
    return {
        "judged": tally.judged,
        "escalated": tally.escalated,
        "by_rule": tally.by_rule,
        "unattended": tally.unattended,
        "escalation_rate": tally.escalation_rate,
        "rule_match_rate": tally.rule_match_rate,
        "by_confidence": _keyed(tally.by_confidence),
        "accept_accuracy_by_confidence": _keyed(calibration.accept_accuracy_by_confidence),
        "retry_success_rate": calibration.retry_success_rate,
        "recommended_threshold": calibration.recommended_threshold,
        "threshold_by_goal_type": calibration.threshold_by_goal_type,
        "threshold": of_facts.value if (of_facts := record.thresholds.by_kind.get("fact")) else None,
        "is_threshold_learned": bool(record.thresholds.by_kind),
        "thresholds": {kind: move.value for kind, move in record.thresholds.by_kind.items()},
        "weights_by_goal_type": record.weights.weights_by_goal_type,
        "decisions_by_goal_type": record.weights.decisions_by_goal_type,
        "are_weights_used": record.are_weights_used,
        "compared": record.compared,
        "audits": record.audits,
        "models": record.models,
        "asked": tally.asked,
        "tokens": tally.tokens,
        "usd": tally.usd,
        "unpriced": tally.unpriced,
    }


def _rows(record: JudgeRecord) -> list[tuple[str, str, str]]:
    tally, retried = record.tally, record.calibration.retry_success_rate
    recommended = record.calibration.recommended_threshold
    return [
        ("judged", f"{tally.judged:,}", "facts and outputs of runs, again where something had failed"),
        ("a person is asked", _share(tally.escalation_rate), counted(tally.escalated, "judgement")),
        ("a rule decides", _share(tally.rule_match_rate), counted(tally.by_rule, "judgement")),
        ("tried again", _share(retried), "of what was sent back, accepted the next time"),
        ("nobody attends", f"{tally.unattended:,}", "accepted unjudged, as `unattended: accept` says"),
        ("audits", f"{record.audits:,}", "of what it let pass"),
        ("answers", f"{record.compared:,}", "of people about what it would accept"),
        ("recommended", "–" if recommended is None else f"{recommended:.2f}", "threshold by these answers; –: none, or too few"),
        *([] if record.thresholds.by_kind else [("threshold", "manifest's", "at work")]),
        *[(f"threshold ({kind})", _learned(move.value), "at work") for kind, move in record.thresholds.by_kind.items()],
        ("tokens", f"{tally.tokens:,}", ", ".join(record.models) or "no model was asked"),
        ("money", f"${tally.usd:,.4f}", f"without {tally.unpriced:,} of unknown price" if tally.unpriced else ""),
    ]


def _learned(threshold: float | None) -> str:
    return "nothing: it may not decide alone" if threshold is None else f"{threshold:.2f}"


def _keyed(by_confidence: dict[float, Any]) -> dict[str, Any]:
    return {f"{confidence:g}": value for confidence, value in sorted(by_confidence.items())}


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
