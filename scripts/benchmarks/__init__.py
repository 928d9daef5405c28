"""What `scripts/benchmark.py` measures, and how."""
