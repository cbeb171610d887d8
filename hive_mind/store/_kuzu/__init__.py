"""Everything about the package `kuzu`, which may abort, hang or crash its process: it is only loaded in others.

`engine` runs in those, `pipe` asks them. The graph stands on these two; the rest reads the format of an agent's memory before
record files, a Kuzu database, once: `old` runs in a process of its own on a copy that `place` makes, `reader` asks it, `rows`
turns its rows into changes, `conversion` goes through all of it and around unreadable rows.
"""
