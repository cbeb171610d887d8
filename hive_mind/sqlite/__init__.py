"""What every SQLite file of this package has in common: one owner, one thread, writes that are on disk when they return.

A node's journal and an agent's record stand on it. It knows neither: a `Format` says what a file is, they bring the statements.
"""
