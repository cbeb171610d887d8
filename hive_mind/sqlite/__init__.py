"""What every SQLite file of this package has in common: one owner, one thread, writes that are on disk when they return.

A node's journal, an agent's record and its ledger stand on it; a ledger may have several owners who take turns. It knows none of
them: a `Format` says what a file is, they bring the statements.
"""
