"""What has to do with the package `kuzu`, which may abort, hang or crash the process it is in: it is only loaded in others.

`engine` is what those run, `pipe` how they are asked. The graph stands on these two; the rest reads what an agent's memory was
kept in until record files came, a Kuzu database, once: `old` runs in a process of its own on a copy that `place` makes, `reader`
asks it, `rows` turns what comes into changes, `conversion` goes through all of it and around what can't be read.
"""
