"""Solvers tried beside the scene, to be compared."""
