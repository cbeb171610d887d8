"""The common parts of all drawings: colours and shapes, and how a figure of matplotlib becomes a file or a part of a page."""
