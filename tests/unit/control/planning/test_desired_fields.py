"""Every field of a manifest reaches the processes and the plan."""

import pytest

from hive_mind.control.manifests.manifest import HiveManifest
from hive_mind.forms.form import everywhere, section_of
from hive_mind.runtime.workers.config import SourceConfig
from tests.unit.control.manifests_drawn import manifest_of
from tests.unit.control.planning.desired_cases import CASES, ELSEWHERE
from tests.unit.control.planning.desired_fleets import BASE, applied


def test_every_field_of_a_manifest_has_its_case():
    leaves = {path for path, info in everywhere(HiveManifest) if section_of(info) is None}
    assert leaves == {f"spec.{path}" for path in CASES} | ELSEWHERE.keys()


@pytest.mark.parametrize("field", CASES)
def test_a_field_that_changes_reaches_the_processes_and_the_plan(field):
    before, after, shown = CASES[field]
    fleet = applied(before)
    old = fleet.desired(manifest_of(BASE | before)).processes
    if field == "agents.sources":
        fleet.sources = {"ada": (SourceConfig("/manifests/a.txt", "0" * 64),)}
    manifest = manifest_of(BASE | before | after)
    new, plan = fleet.desired(manifest).processes, fleet.plan(manifest)

    assert new != old
    steps = {f"{action.kind} {action.subject}" for action in plan.actions}
    paths = {change.path for action in plan.actions for change in action.changes}
    assert (shown or f"spec.{field}") in steps | paths
    fleet.apply(manifest)
    assert not fleet.plan(manifest)


def test_a_shown_change_has_the_values_of_the_manifest():
    fleet = applied({})
    spec = BASE | {"gossip": {"periodS": 2.5}, "promotion": {"confidenceMin": 0.5}}
    shown = {str(change) for action in fleet.plan(manifest_of(spec)).actions for change in action.changes}
    assert shown == {"spec.gossip.periodS: 10 → 2.5", "spec.promotion.confidenceMin: 0.3 → 0.5"}


def test_what_only_the_controller_needs_changes_no_process():
    fleet = applied({})
    manifest = manifest_of(BASE | {"platform": {"stopTimeoutS": 5}})
    assert fleet.desired(manifest).stop_timeout_s == 5
    assert not fleet.plan(manifest)
