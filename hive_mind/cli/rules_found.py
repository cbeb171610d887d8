"""What `hive-mind rules` works with: rules at work and in files, facts of an agent or of an export, what people decided."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from hive_mind.agents.fact_names import names_of
from hive_mind.cli.file_lines import lines_of
from hive_mind.cli.fleet.agents import fleet_agent
from hive_mind.cli.fleet.fleets import chosen_fleet
from hive_mind.cli.inbox_desk import desk_of
from hive_mind.cli.options import DEFAULT_AGENT, for_copying
from hive_mind.cli.running import CommandError
from hive_mind.control.state import FleetFolder
from hive_mind.errors import DatabaseUnreadable, InvalidInput, RuleError, WireError
from hive_mind.forms.reading import text_of
from hive_mind.judge.items import BY_EXPIRY, ItemView
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.precedent import Precedent
from hive_mind.judge.rule_file import RULES, rules_of
from hive_mind.judge.rules import EvaluationRule, RuleSet
from hive_mind.judge.trial import Tried
from hive_mind.memory.transfer import record_of
from hive_mind.model.fact import Fact
from hive_mind.runtime.reviewing import rules_of as rules_of_config
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import opened_store
from hive_mind.runtime.worker_config import read_config

_KIND = "fact"


def at_work(home: Path, fleet: str) -> list[EvaluationRule]:
    """The rules of the fleet that is meant, as its processes were told. Raises `InvalidInput` where there is none."""
    folder = FleetFolder(home, chosen_fleet(home, fleet))
    configs = [read_config(path) for path in sorted(folder.config.glob("*.json"))]
    return list(rules_of_config(configs[0].review).rules) if configs else []


def read_files(files: Sequence[Path]) -> list[EvaluationRule]:
    """The rules of all of them. Raises `RuleError` or `InvalidInput`."""
    found: list[EvaluationRule] = []
    for file in files:
        text, problems = text_of(file, RULES)
        if problems:
            raise RuleError(problems, str(file))
        found += rules_of(text, str(file))
    return list(RuleSet(found).rules)


def cases_in(file: str) -> list[Tried]:
    """The facts of an export. Raises `CommandError` for a line that is none."""
    with lines_of(file) as lines:
        try:
            return _cases(_facts(line.decode() for line in lines() if line.strip()), "", {})
        except (InvalidInput, UnicodeDecodeError) as error:
            raise CommandError(f"{file}: {error}; give a file that `facts export` wrote") from error


async def cases_of(settings: Settings, fleet: str, agent: str) -> list[Tried]:
    """What an agent knows now, with what people decided about it."""
    async with fleet_agent(settings.home, fleet, agent) as running:
        if running is not None:
            name, lines = running.name, (await running.call("export"))["lines"]
            facts = list(_facts(lines))
        else:
            name = agent or DEFAULT_AGENT
            async with opened_store(for_copying(settings, name), name) as store:
                facts = [fact async for some in store.facts() for fact in some]
    decided = {view.item.subject: view for view in await _decided(settings.home, name)}
    return _cases(facts, name, {subject: _action(view) for subject, view in decided.items()})


async def decided_facts(home: Path | None, agent: str) -> list[Precedent]:
    """What people decided about facts. To reject one is what a rule says by `retry`: it stays home."""
    return [
        Precedent(person=_action(view), kind=_KIND, result=_shown(view), case=view.item.title)
        for view in await _decided(home, agent)
    ]


async def _decided(home: Path | None, agent: str) -> list[ItemView]:
    found: list[ItemView] = []
    async with desk_of(home, agent) as desk:
        for item_id in await desk.ids():
            try:
                view = await desk.view(item_id)
            except (DatabaseUnreadable, WireError):
                # `inbox list --all` tells of it.
                continue
            if view and view.item.kind == _KIND and view.decision and view.decision.by != BY_EXPIRY:
                found += [view] if agent in ("", view.item.agent) else []
    return found


def _action(view: ItemView) -> JudgmentAction:
    assert view.decision is not None  # noqa: S101 - it is decided
    action = view.decision.action
    return action if action is JudgmentAction.ACCEPT else JudgmentAction.RETRY


def _shown(view: ItemView) -> dict[str, str]:
    """What the person was shown of the fact, by the names that conditions use."""
    context = dict(view.item.context)
    return {
        "text": context.get("fact", view.item.title),
        "concept": context.get("concept", ""),
        "before": context.get("before", ""),
    }


def _facts(lines: Iterable[str]) -> Iterable[Fact]:
    return (record for line in lines if isinstance(record := record_of(line), Fact))


def _cases(facts: Iterable[Fact], agent: str, decided: dict[str, JudgmentAction]) -> list[Tried]:
    return [Tried(names_of(fact, agent), fact.content, decided.get(fact.id)) for fact in facts if fact.is_current]
