"""The drawings of a report, by matplotlib: each a file beside the page and, as SVG, a part of it.

Needs the extra `plots`; importing this without it raises `ModuleNotFoundError`, and the page has its tables.
"""

from hive_mind.evals.report.plots.all import drawn

__all__ = ["drawn"]
