"""The parts of the benchmark: what is measured, on what, against whom, and how it is shown."""
