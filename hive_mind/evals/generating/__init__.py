"""A made-up world that many agents talk about for months, and questions about it with known answers.

Everything is invented and drawn from a seed: projects with changing figures, contradictions, near-namesakes, incidents, security
logs, private remarks, small talk. `world` has the vocabulary; a story (`projects`, `incidents`) makes turns and questions
together, so the labels are right by construction; `story` brings the turns into order.
"""

from hive_mind.evals.generating.generate import CATEGORIES, generate

__all__ = ["CATEGORIES", "generate"]
