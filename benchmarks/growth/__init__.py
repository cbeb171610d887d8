"""How cost grows with facts, with agents and with failures: measured into growth.json, drawn from it into SVG files beside it.

`python -m benchmarks.growth --data DATA --cache FOLDER` measures and draws; `--draw` draws what was measured before. Each plot
says the command, the machine and the day.
"""
