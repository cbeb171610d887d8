"""The common ground of every SQLite file of this package: one owner, one thread, writes that are on disk when they return.

A node's journal, an agent's record and its ledger stand on it; a ledger may have several owners that take turns. It knows none of
them: a `Format` describes a file, they bring the statements.
"""
