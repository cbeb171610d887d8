"""An agent's memory as it was kept until record files came: a Kuzu database, read once and left where it is.

`changes_from_kuzu` is all that others need. Kuzu 0.11 may abort, hang or crash on a file that is not as it should be, so `reader`
runs in a process of its own, on a copy that `place` makes; `asking` talks to it, `mending` gets a copy to open that does not by
itself, `rows` turns what comes into changes, `conversion` goes through all of it and around what can't be read.
"""

from hive_mind.store._kuzu.conversion import Report, changes_from_kuzu

__all__ = ["Report", "changes_from_kuzu"]
