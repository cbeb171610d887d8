"""`hive-mind rules approve|shadow|retire`: what a rule of the whole hive may decide, without touching a manifest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import Fleet
from hive_mind.cli.options import Format, Group, settings_for
from hive_mind.cli.output import show, show_json
from hive_mind.cli.running import CommandError
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.judge.rules import EvaluationRule, Mode, Trial

Ids = Annotated[list[str] | None, typer.Argument(metavar="RULE", help="Ids of rules.", show_default="all in --from")]
From = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="Rules that the hive does not have yet.", show_default=False)
]
Share = Annotated[
    float | None, typer.Option("--of", min=0.01, max=1, help="The share of all cases.", show_default="the next of 0.1, 0.5 and 1")
]
By = Annotated[str, typer.Option("--as", metavar="NAME", help="The name to decide under.", show_default="who is logged in")]


@dataclass(frozen=True, slots=True)
class OfFleet:
    """The fleet of the rules, and the form in which the result is printed."""

    fleet: Fleet = ""
    home: options.Home = None
    output: options.Output = Format.TEXT


@dataclass(frozen=True, slots=True)
class _Wish:
    mode: "Mode"
    by: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class _Moved:
    rule: "EvaluationRule"
    trial: "Trial"


def add_to(group: Group) -> None:
    group.called_as(
        "hive-mind rules approve --from rules/learned.yaml",
        "hive-mind rules approve no_prices",
        "hive-mind rules approve no_prices --of 1 --as ruth",
    )(approve)
    group.called_as("hive-mind rules shadow no_prices", "hive-mind rules shadow --from rules/new.yaml")(shadow)
    group.called_as("hive-mind rules retire no_prices")(retire)


async def approve(ids: Ids = None, source: From = None, share: Share = None, by: By = "", *, at: OfFleet) -> None:
    """Let rules decide in the whole hive: a tenth of the cases at first, more each time they are approved again.

    The next step takes 20 decisions of people that agree with the rule; --of sets any share at once. It takes effect at every
    agent within seconds, and each checks all its facts again. A rule that people then decide against goes back on trial by
    itself.
    """
    from hive_mind.cli.review.inbox_desk import person

    await _decide(_Wish("active", person(by), share), ids or [], source, at)


async def shadow(ids: Ids = None, source: From = None, by: By = "", *, at: OfFleet) -> None:
    """Put rules of the hive on trial: they look at every fact and decide nothing. Facts that they held back are shared."""
    from hive_mind.cli.review.inbox_desk import person

    await _decide(_Wish("shadow", person(by)), ids or [], source, at)


async def retire(
    ids: Annotated[list[str], typer.Argument(metavar="RULE", help="Ids of rules.")], by: By = "", *, at: OfFleet
) -> None:
    """Retire rules of the hive. Facts that they held back are shared."""
    from hive_mind.cli.review.inbox_desk import person

    await _decide(_Wish("retired", person(by)), ids, None, at)


async def _decide(wish: _Wish, ids: Sequence[str], source: Path | None, at: OfFleet) -> None:
    from hive_mind.cli.fleet.fleets import chosen_fleet, is_stopped
    from hive_mind.cli.review.rules_found import desk_agent, plainly, read_files, review_of, rules_in, trials_by_people
    from hive_mind.judge.rules import known

    settings = settings_for(at.home)
    if is_stopped(settings.home, chosen_fleet(settings.home, at.fleet)):
        raise CommandError("this fleet is stopped, so the rule can't be sent: hive-mind rollout restart starts it again")
    review = review_of(settings.home, at.fleet)
    if not review.desk.agent:
        raise InvalidInput("nobody speaks for people in this fleet: give its manifest `judge: {desk: AGENT}`, or {facts: rules}")
    rules = {rule.id: rule for rule in (read_files([source]) if source else ())}
    async with desk_agent(settings.home, at.fleet, review) as desk:
        evaluation_rules = known(await rules_in(desk))
        wanted_rules = _wanted(ids or list(rules), evaluation_rules | rules, {str(rule.get("id")) for rule in review.rules})
        trials = await trials_by_people(wanted_rules, settings.home, desk.name)
        # All are looked at before the first is changed.
        moves = [_moved(trial, wish, evaluation_rules.get(trial.rule.id)) for trial in trials]
        for move in moves:
            await desk.call("rule", rule=move.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    if at.output is Format.JSON:
        show_json([plainly(move.rule, move.trial) for move in moves])
    else:
        for move in moves:
            show(_move_text(move))


def _wanted(ids: Sequence[str], rules: "Mapping[str, EvaluationRule]", of_manifest: set[str]) -> "list[EvaluationRule]":
    """Raises `InvalidInput` for one that is not there, or that the manifest decides about."""
    if not ids:
        raise InvalidInput("say which: ids of rules, or --from FILE")
    for rule_id in ids:
        if rule_id in of_manifest:
            raise InvalidInput(f"rule {rule_id} stands in the manifest: change it there, then hive-mind apply")
        if rule_id not in rules:
            hint = "hive-mind rules list shows them, and --from FILE brings new ones"
            raise InvalidInput(f"there is no rule {rule_id!r} in the hive: {hint}")
    return [rules[rule_id] for rule_id in dict.fromkeys(ids)]


def _moved(trial: "Trial", wish: _Wish, there: "EvaluationRule | None") -> _Moved:
    """`there` is the rule as the hive has it. Raises `InvalidInput` where people decided otherwise, or not enough yet."""
    from hive_mind.judge.rules import moved

    rule = trial.rule
    now = there.rollout if there is not None and there.mode == "active" else 0.0
    share = rule.rollout if wish.mode != "active" else wish.share or _next(trial, now)
    return _Moved(moved(rule, wish.mode, share, wish.by), trial)


def _next(trial: "Trial", now: float) -> float:
    from hive_mind.cli.review.rules_found import agreed
    from hive_mind.judge.calibration import TARGET
    from hive_mind.judge.judgment import JudgmentAction
    from hive_mind.judge.rules import DECISIONS_MIN, STEPS

    rule = trial.rule
    # One that asks people is never contradicted by what they say.
    asks = rule.action is JudgmentAction.ESCALATE
    if not asks and trial.is_refuted(TARGET):
        raise InvalidInput(f"{rule.id}: {agreed(trial)}: nothing was changed; --of SHARE approves it all the same")
    if now == 0.0 or asks:
        return next((step for step in STEPS if step > now), 1.0)
    after = trial.next_share(now, TARGET)
    if after == now < 1.0:
        problem = f"{rule.id} decides {now:.0%} of all cases, and the next step takes {DECISIONS_MIN} decisions that agree"
        raise InvalidInput(f"{problem} ({agreed(trial)}): nothing was changed; --of SHARE takes it all the same")
    return after


def _move_text(move: _Moved) -> str:
    from hive_mind.cli.review.rules_found import agreed

    rule = move.rule
    if rule.mode == "active":
        return f"{rule.id} decides {rule.rollout:.0%} of all cases from now on, at every agent ({agreed(move.trial)})"
    return f"{rule.id} is on trial: it decides nothing" if rule.mode == "shadow" else f"{rule.id} is retired"
