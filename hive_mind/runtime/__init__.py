"""The composition root: settings, and putting the parts together by them."""

CALL_S = 600.0
"""How long an agent may take to answer: a language model may read a long file for minutes."""
