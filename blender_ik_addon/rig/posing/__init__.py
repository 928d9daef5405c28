"""Solvers of chains and trees: targets in, channels out."""
