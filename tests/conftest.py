"""The same examples on every run and machine, and fewer of them where time is short."""

from collections import defaultdict

import pytest
from hypothesis import settings

# deadline: a slow machine is no failure. database: no state between runs.
settings.register_profile("chain_ik", derandomize=True, deadline=None, database=None)
settings.load_profile("chain_ik")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--few", type=int, metavar="N", help="of each test no more than N cases")
    parser.addoption("--half", type=int, metavar="N", help="only the even (0) or odd (1) files")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of tests that have many, evenly: every test still runs."""
    few, half = config.getoption("few"), config.getoption("half")
    if half is not None:
        files = sorted({item.path for item in items})
        _keep(config, items, {item for item in items if files.index(item.path) % 2 == half})
    if not few:
        return
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    kept = set()
    for found in cases.values():
        is_whole = found[0].get_closest_marker("every_case") is not None
        number = len(found) if is_whole else min(few, len(found))
        kept.update(found[i * len(found) // number] for i in range(number))
    _keep(config, items, kept)


def _keep(config: pytest.Config, items: list[pytest.Item], kept: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
