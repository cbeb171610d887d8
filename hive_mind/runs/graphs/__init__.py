"""A worker as people write it: nodes, edges and sub-agents, its file, whether it can run, and its picture."""
