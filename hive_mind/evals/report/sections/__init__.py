"""The parts of the page, one file each: `section(material)` gives its HTML, or nothing where a run has no figures for it."""
