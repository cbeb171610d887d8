"""Starts and stops processes of a fleet for ever, until it is killed. Arguments: home, seed, names."""

import asyncio
import random
import sys
from pathlib import Path

from tests.contract.platforms import FAKE, Ground


async def main(home: str, seed: str, *names: str) -> None:
    chance = random.Random(int(seed))
    ground = Ground(Path(home), "local", FAKE)
    platform = await ground.open()
    print("begins", flush=True)
    while True:
        name = chance.choice(names)
        if chance.random() < 0.6:
            await platform.start(ground.config(name))
        else:
            await platform.stop(name, 20.0)


asyncio.run(main(*sys.argv[1:]))
