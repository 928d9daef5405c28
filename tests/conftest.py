"""The same examples on every run and machine, and fewer of them where time is short."""

from collections import defaultdict

import pytest
from hypothesis import settings

# deadline: a slow machine is no failure. database: no state between runs.
settings.register_profile("chain_ik", derandomize=True, deadline=None, database=None)
settings.load_profile("chain_ik")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--few", type=int, metavar="N", help="of each test no more than N cases")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of tests that have many, evenly: every test still runs."""
    few = config.getoption("few")
    if not few:
        return
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    kept = set()
    for found in cases.values():
        kept.update(found[i * len(found) // few] for i in range(min(few, len(found))))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
