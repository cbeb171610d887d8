"""How well does it work? Data sets, runs over topologies, reports, and the gate that can refuse a change."""
