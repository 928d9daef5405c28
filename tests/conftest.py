"""The same examples on every run and machine: a failure is always one that can be run again."""

from hypothesis import settings

# deadline: a slow machine is no failure. database: no state between runs.
settings.register_profile("chain_ik", derandomize=True, deadline=None, database=None)
settings.load_profile("chain_ik")
