"""The same examples on every run and machine, and fewer of them where time is short."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# deadline: a slow machine is no failure. database: no state between runs.
settings.register_profile("chain_ik", derandomize=True, deadline=None, database=None)
settings.load_profile("chain_ik")


@pytest.fixture(scope="module")
def scripts() -> Iterator[None]:
    """While it is in use what is in scripts/ can be imported: that is no package of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parent.parent / "scripts"))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--few", type=int, metavar="N", help="of each test no more than N cases")
    parser.addoption("--tests", type=int, metavar="N", help="of each file no more than N tests")
    parser.addoption("--half", type=int, metavar="N", help="only the even (0) or odd (1) files")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of tests that have many, evenly, and whole tests and files if asked to."""
    few, tests, half = (config.getoption(name) for name in ("few", "tests", "half"))
    if half is not None:
        files = sorted({item.path for item in items})
        _keep(config, items, {item for item in items if files.index(item.path) % 2 == half})
    if not few:
        return
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    of_files = defaultdict(list)
    for name, found in cases.items():
        is_whole = found[0].get_closest_marker("every_case") is not None
        of_files[name.partition("::")[0]].append(found if is_whole else _spread(found, few))
    kept = [_spread(found, tests or len(found)) for found in of_files.values()]
    _keep(config, items, {item for of_file in kept for found in of_file for item in found})


def _spread(found: list, number: int) -> list:
    """Return no more than so many of those found, evenly."""
    number = min(number, len(found))
    return [found[i * len(found) // number] for i in range(number)]


def _keep(config: pytest.Config, items: list[pytest.Item], kept: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
