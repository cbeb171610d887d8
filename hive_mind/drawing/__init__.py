"""What all drawings have in common: colours and shapes, and how a figure of matplotlib becomes a file or a part of a page."""
