"""Fleets to apply in tests: a manifest in a line, and a controller that applies it to a world of its own."""

from pathlib import Path

from hive_mind.control.controller import HiveController
from hive_mind.control.converging import ConvergenceResult
from hive_mind.control.manifests.reading import Source, read_text
from hive_mind.control.planning import Plan
from tests.unit.control.fake_platform import World, surroundings


def source(folder: Path, spec: str, name: str = "team") -> Source:
    body = "\n".join(f"  {line}" for line in spec.strip().splitlines())
    return read_text(f"apiVersion: hive-mind/v1\nkind: Hive\nmetadata: {{name: {name}}}\nspec:\n{body}\n", folder, name)


def agents(*names: str, **more: str) -> str:
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return "agents:\n" + "\n".join(f"- {{name: {name}{extra}}}" for name in names)


FLAT = agents("ada", "bob", "cy")


async def apply(home: Path, world: World, wanted: Source, **options: bool) -> ConvergenceResult:
    async with HiveController.open(home, wanted.manifest.metadata.name, around=surroundings(world)) as controller:
        return await controller.apply(wanted, **options)


async def founded(home: Path, spec: str = FLAT) -> World:
    """A world in which this fleet was applied."""
    world = World()
    await apply(home, world, source(home, spec))
    return world


async def planned(home: Path, world: World, wanted: Source) -> Plan:
    async with HiveController.open(home, wanted.manifest.metadata.name, around=surroundings(world)) as controller:
        return await controller.plan(wanted)
