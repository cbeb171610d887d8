"""The rows of the table in README.md, a module for each kind of work; `benchmarks.evidence` runs them."""
