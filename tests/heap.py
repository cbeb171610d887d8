"""A session of thousands of tests has a large heap: each collection of garbage that looks at all of it takes half a second.

To look every 700 objects, as Python does by itself, is a twentieth of what tests use of the processor.
"""

import gc

_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def set_aside() -> None:
    """Let collections of garbage pass over whatever is here now."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
