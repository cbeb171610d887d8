"""A run is a state machine whose steps are kept: `fold` them for its state, `wanted` says what should be under way, and
`accepted` what an event means. All of it is pure; `agents.runs.executor` does what is wanted.
"""
