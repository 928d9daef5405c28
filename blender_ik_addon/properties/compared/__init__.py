"""Comparison of solvers on one chain: solves that do not change the scene, and their results."""
