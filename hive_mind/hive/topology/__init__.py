"""Where facts are kept and who is asked: the law, the topologies, and how one travels and changes."""
