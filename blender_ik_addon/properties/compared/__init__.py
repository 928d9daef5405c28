"""Solvers compared on one chain: solved beside the scene, and kept to be shown."""
