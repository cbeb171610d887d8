"""Carrying an experiment out: data, vectors, worker processes, and a folder of rows that a kill can't spoil."""
