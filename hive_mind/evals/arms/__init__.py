"""Ways to hold what a data set says and to find it again, one per file; an experiment's `Arm` names them."""
