"""The rows of the table in README.md, a module for each kind of work. `benchmarks.evidence` runs them.

Each has `measured(means)`, which gives figures, and states what they are compared with and why that is a fair peer or a limit.
"""
