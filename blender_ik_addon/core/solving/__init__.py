"""Loops around the steps of solvers, starts and restarts, and the order in which solvers run."""
