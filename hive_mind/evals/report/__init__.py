"""The report of a run: one page to be sent to others, drawings and tables beside it. It shows a scorecard."""

from hive_mind.evals.report.page import write_report

__all__ = ["write_report"]
