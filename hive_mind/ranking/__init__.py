"""From raw text to a ranking, in plain functions and one incremental index. Memory and hive replicas all rank by this.

`tokens` → `bm25` and `vector` → `index` (candidates with raw scores) → `fusion` and `pipeline` (a ranking). Nothing here waits
or reads a clock.
"""
