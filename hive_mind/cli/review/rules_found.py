"""The inputs of `hive-mind rules`: rules at work and in files, facts of an agent or of an export, people's decisions."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hive_mind.agents.judging.decision_log import action_of, decided, shown_precedent
from hive_mind.agents.judging.fact_judge import names_of
from hive_mind.agents.judging.rules_at_work import rules_in as rules_in_file
from hive_mind.agents.judging.rules_at_work import rules_of as rules_of_config
from hive_mind.cli.asking.asked import FleetAgent, fleet_agent
from hive_mind.cli.fleet import chosen_fleet
from hive_mind.cli.learning import lines_of
from hive_mind.cli.options import DEFAULT_AGENT, for_copying
from hive_mind.cli.output import say, show_table
from hive_mind.cli.review import desk_of
from hive_mind.cli.running import CommandError
from hive_mind.control.state import FleetFolder
from hive_mind.errors import BackendError, InvalidInput
from hive_mind.judge.judgment import FACT, Example, JudgmentAction, Precedent, ReviewConfig
from hive_mind.judge.rules import APPROVED_BY, TAKEN_BACK, EvaluationRule, RuleSet, Trial, together, tried
from hive_mind.memory.transfer import record_of
from hive_mind.model.fact import Fact
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import opened_store

_TITLES = ["id", "priority", "action", "mode", "of cases", "from", "condition", "because"]


def review_of(home: Path, fleet: str) -> ReviewConfig:
    """The review settings of a fleet, from its processes' configuration. Raises `InvalidInput` where there is no fleet."""
    configs = FleetFolder(home, chosen_fleet(home, fleet)).configs()
    return configs[0].review if configs else ReviewConfig()


async def at_work(home: Path, fleet: str) -> list[EvaluationRule]:
    """The rules of its manifest, with those of its hive while it runs. Raises `InvalidInput` where there is no fleet."""
    review = review_of(home, fleet)
    rules = rules_of_config(review)
    if not review.desk.agent:
        return list(rules.rules)
    try:
        async with desk_agent(home, fleet, review) as desk:
            work = together(rules.rules, await rules_in(desk))
    except (CommandError, BackendError) as error:
        say(f"those of its hive are not shown: {error}", style="yellow")
        return list(rules.rules)
    if work.unreadable:
        say(work.unreadable, style="yellow")
    return list(work.rules.rules)


@asynccontextmanager
async def desk_agent(home: Path, fleet: str, review: ReviewConfig) -> AsyncIterator[FleetAgent]:
    """The agent that speaks for people in the hive. Raises `CommandError` where the fleet does not run."""
    async with fleet_agent(home, chosen_fleet(home, fleet), review.desk.agent) as running:
        # One whose fleet is named is there, or refused.
        assert running is not None  # noqa: S101
        yield running


async def rules_in(desk: FleetAgent) -> dict[str, Any]:
    """The rules of its hive, by key."""
    rules: dict[str, Any] = (await desk.call("rules"))["rules"]
    return rules


def read_files(files: Sequence[Path]) -> list[EvaluationRule]:
    """The rules of all of them. Raises `RuleError` or `InvalidInput`."""
    return list(RuleSet(rule for file in files for rule in rules_in_file(file)).rules)


def cases_in(file: str) -> list[Example]:
    """The facts of an export. Raises `CommandError` for a malformed line."""
    with lines_of(file) as lines:
        try:
            return _cases(_facts(line.decode() for line in lines() if line.strip()), "", {})
        except (InvalidInput, UnicodeDecodeError) as error:
            raise CommandError(f"{file}: {error}; give a file that `facts export` wrote") from error


async def cases_of(settings: Settings, fleet: str, agent: str) -> list[Example]:
    """The facts that an agent knows now, with people's decisions about them."""
    async with fleet_agent(settings.home, fleet, agent, timeout_s=settings.timeout_s) as running:
        if running is not None:
            name, lines = running.name, (await running.call("export"))["lines"]
            facts = list(_facts(lines))
        else:
            name = agent or DEFAULT_AGENT
            async with opened_store(for_copying(settings, name), name, is_reading=True) as store:
                facts = [fact async for facts_of_page in store.facts() for fact in facts_of_page]
    async with desk_of(settings.home, name) as desk:
        actions = {view.item.subject: action_of(view) async for view in decided(desk, name) if view.item.kind == FACT}
    return _cases(facts, name, actions)


async def decided_facts(home: Path | None, agent: str) -> list[Precedent]:
    """People's decisions about facts, and about the outputs of runs."""
    async with desk_of(home, agent) as desk:
        return [shown_precedent(view) async for view in decided(desk, agent)]


async def trials_by_people(rules: Iterable[EvaluationRule], home: Path, desk: str) -> list[Trial]:
    """Rules, put to what people decided at the desk of this agent."""
    async with desk_of(home, desk) as people:
        return tried(rules, [shown_precedent(view) async for view in decided(people)])


def _facts(lines: Iterable[str]) -> Iterable[Fact]:
    return (record for line in lines if isinstance(record := record_of(line), Fact))


def _cases(facts: Iterable[Fact], agent: str, decided: dict[str, JudgmentAction]) -> list[Example]:
    return [
        Example(result=names_of(fact, agent), kind=FACT, case=fact.content, person=decided.get(fact.id))
        for fact in facts
        if fact.is_current
    ]


def show_rules(rules: Sequence[EvaluationRule]) -> None:
    """A line each, in the order in which they are asked."""
    show_table(_TITLES, [_row(rule) for rule in rules])


def agreed(trial: Trial) -> str:
    """How often people decided as a rule says."""
    if not trial.decided:
        return "people decided no case of it"
    return f"people agreed in {trial.rightly} of {trial.decided} cases"


def plainly(rule: EvaluationRule, trial: Trial) -> dict[str, Any]:
    fields = rule.model_dump(mode="json", by_alias=True)
    return fields | {"peopleAgreed": trial.rightly, "peopleDecided": trial.decided}


def _row(rule: EvaluationRule) -> tuple[str, ...]:
    share = f"{rule.rollout:.0%}" if rule.mode == "active" else "none"
    return (rule.id, str(rule.priority), rule.action, rule.mode, share, _origin(rule), rule.condition, _why(rule))


def _origin(rule: EvaluationRule) -> str:
    by = rule.metadata.get(APPROVED_BY)
    return f"the hive, by {by}" if by else "the manifest"


def _why(rule: EvaluationRule) -> str:
    taken_back = rule.metadata.get(TAKEN_BACK)
    return f"{rule.description} (taken back: {taken_back})".strip() if taken_back else rule.description
