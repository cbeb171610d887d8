"""From rows to means, intervals and differences; comparing runs, and the gate."""
