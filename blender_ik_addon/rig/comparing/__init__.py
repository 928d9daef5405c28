"""Solvers tried on one chain and compared, without changing the rig."""
