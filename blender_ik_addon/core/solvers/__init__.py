"""The steps of the solvers, and nothing else."""
