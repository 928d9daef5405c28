"""The algorithms: a file holds the step of one and nothing else."""
