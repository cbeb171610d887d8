"""What a source says now, and what it said before."""
