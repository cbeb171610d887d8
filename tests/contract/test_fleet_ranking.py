"""A deployed retrieval configuration reaches a fleet that runs: the file changes, the plan shows it, apply does it."""

import asyncio
import json
from pathlib import Path

import pytest

from hive_mind.control.controller import HiveController
from hive_mind.errors import ManifestError
from hive_mind.ranking.pipeline import RankingSettings
from tests.contract.field_fleets import PATIENCE_S, QUICK, source_of

SPEC = {"agents": [{"name": "ada"}], "gossip": QUICK, "platform": "inprocess", "retrieval": {"config": "configs/active.json"}}


def deploy(folder: Path, **retrieval: object) -> None:
    """As `hive-mind retrieval deploy` leaves it."""
    (folder / "configs").mkdir(exist_ok=True)
    active = {"config": "v1", "deployed": {"name": "v1", "retrieval": retrieval}}
    (folder / "configs" / "active.json").write_text(json.dumps(active))


async def ranking(controller: HiveController) -> RankingSettings:
    """What the running memory ranks by."""
    await controller.call("ada", "search", query="which pump")
    worker = controller._platforms["inprocess"]._running["town"]  # type: ignore[attr-defined]
    found: RankingSettings = worker._agents["ada"]._local._state.recall.settings
    return found


async def until_nothing_is_left_to_do(controller: HiveController) -> None:
    while True:
        if not await controller.plan(controller.source()):
            return
        await asyncio.sleep(0.05)


async def test_a_changed_file_is_planned_applied_and_ranked_by(tmp_path: Path) -> None:
    deploy(tmp_path, depth=70)
    wanted = source_of(SPEC, tmp_path)
    async with HiveController.open(tmp_path / "home", "town") as controller:
        assert (await controller.apply(wanted, timeout_s=PATIENCE_S)).problems == ()
        assert (await ranking(controller)).depth == 70
        assert not await controller.plan(wanted)

        deploy(tmp_path, depth=80, fusion="rrf", rrf_k=9)
        shown = {str(change) for action in (await controller.plan(wanted)).actions for change in action.changes}
        assert shown == {"spec.retrieval.depth: 70 → 80", "spec.retrieval.fusion: linear → rrf", "spec.retrieval.rrfK: 60 → 9"}

        assert (await controller.apply(wanted, timeout_s=PATIENCE_S)).problems == ()
        assert await ranking(controller) == RankingSettings(depth=80, fusion="rrf", rrf_k=9)
        assert not await controller.plan(wanted)
        await controller.delete(timeout_s=PATIENCE_S)


async def test_a_fleet_that_is_kept_going_takes_a_deployment_by_itself(tmp_path: Path) -> None:
    deploy(tmp_path, depth=70)
    async with HiveController.open(tmp_path / "home", "town") as controller:
        assert (await controller.apply(source_of(SPEC, tmp_path), timeout_s=PATIENCE_S)).problems == ()
        stop = asyncio.Event()
        keeping = asyncio.create_task(controller.watch(stop, period_s=0.05))

        deploy(tmp_path, depth=80)
        async with asyncio.timeout(PATIENCE_S):
            await until_nothing_is_left_to_do(controller)
        stop.set()
        await keeping

        assert (await ranking(controller)).depth == 80
        await controller.delete(timeout_s=PATIENCE_S)


async def test_a_file_that_went_wrong_changes_nothing_that_runs(tmp_path: Path) -> None:
    deploy(tmp_path, depth=70)
    wanted = source_of(SPEC, tmp_path)
    async with HiveController.open(tmp_path / "home", "town") as controller:
        assert (await controller.apply(wanted, timeout_s=PATIENCE_S)).problems == ()

        deploy(tmp_path, depth="many")
        with pytest.raises(ManifestError, match=r"active\.json:1: deployed\.retrieval\.depth: "):
            await controller.apply(wanted, timeout_s=PATIENCE_S)

        assert (await ranking(controller)).depth == 70
        assert (await controller.status()).phase == "Ready"
        assert (await controller.delete(timeout_s=PATIENCE_S)).problems == ()
