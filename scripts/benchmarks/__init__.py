"""Rows, workers and measurements of `scripts/benchmark.py`."""
