"""The same examples on every run and machine, and options for fewer of them."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# deadline: a slow machine must not fail tests. database: no state between runs.
settings.register_profile("chain_ik", derandomize=True, deadline=None, database=None)
settings.load_profile("chain_ik")


@pytest.fixture(scope="module")
def scripts() -> Iterator[None]:
    """Make the modules of scripts/ importable, which are outside the packages of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parent.parent / "scripts"))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--few", type=int, metavar="N", help="at most N cases of each test")
    parser.addoption("--tests", type=int, metavar="N", help="at most N tests of each file")
    parser.addoption("--half", type=int, metavar="N", help="only the even (0) or odd (1) files")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect some cases of tests with many, evenly, and tests and files by the options."""
    max_cases, tests, half = (config.getoption(name) for name in ("few", "tests", "half"))
    if half is not None:
        files = sorted({item.path for item in items})
        _select(config, items, {item for item in items if files.index(item.path) % 2 == half})
    if not max_cases:
        return
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    by_file = defaultdict(list)
    for name, group in cases.items():
        is_whole = group[0].get_closest_marker("every_case") is not None
        by_file[name.partition("::")[0]].append(group if is_whole else _spread(group, max_cases))
    selected = [_spread(groups, tests or len(groups)) for groups in by_file.values()]
    _select(config, items, {item for groups in selected for group in groups for item in group})


def _spread(entries: list, number: int) -> list:
    """Return at most ``number`` of the entries, evenly spaced."""
    number = min(number, len(entries))
    return [entries[i * len(entries) // number] for i in range(number)]


def _select(config: pytest.Config, items: list[pytest.Item], selected: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item not in selected])
    items[:] = [item for item in items if item in selected]
