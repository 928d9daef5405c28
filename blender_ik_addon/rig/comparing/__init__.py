"""Comparison of all solvers on one chain, without changes to the rig."""
