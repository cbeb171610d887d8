"""How far agents are believed, and which of several statements is right."""
