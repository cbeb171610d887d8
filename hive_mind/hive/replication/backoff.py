"""When something that nobody confirmed is sent again."""

from hive_mind.hive.chance import Chance

FIRST_RETRY_MS = 2_000


def retry_ms(attempts: int, first_ms: int, last_ms: int, chance: Chance) -> int:
    """How long to wait after a number of attempts: `first_ms`, doubled with each, at most `last_ms`.

    Half of it is jitter, so that members that missed the same message don't speak at once.
    """
    step = min(first_ms << min(attempts, 16), last_ms)
    return step // 2 + chance.randrange(max(step // 2, 1))
