"""A plugin of pytest that writes the executed lines of the extension, one JSON line per test.

    CHAIN_IK_COVERED=notes.jsonl python -m pytest -p wrong_changes.executed_lines ...

The contexts of coverage.py do the same with a tracer that costs time at every line of every call:
twice the time here. `sys.monitoring` (Python 3.12) reports each line once per test.
"""

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType
from typing import TextIO

import pytest

EXTENSION = "blender_ik_addon"
_TOOL = sys.monitoring.COVERAGE_ID
_executed: defaultdict[str, int] = defaultdict(int)
_notes: TextIO | None = None


def _note_line(code: CodeType, line: int) -> object:
    if f"/{EXTENSION}/" in code.co_filename:
        _executed[code.co_filename] |= 1 << line
    return sys.monitoring.DISABLE


def pytest_sessionstart() -> None:
    global _notes
    _notes = open(os.environ["CHAIN_IK_COVERED"], "w", encoding="utf-8")
    sys.monitoring.use_tool_id(_TOOL, "chain_ik")
    sys.monitoring.register_callback(_TOOL, sys.monitoring.events.LINE, _note_line)
    sys.monitoring.set_events(_TOOL, sys.monitoring.events.LINE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Write the lines of a passed test as bits of a number: file -> hexadecimal.

    A test that fails without a wrong change would seem to detect each of them.
    """
    _executed.clear()
    sys.monitoring.restart_events()
    failed_before, start = item.session.testsfailed, time.perf_counter()
    result = yield
    seconds = time.perf_counter() - start
    lines = {
        EXTENSION + path.rpartition(f"/{EXTENSION}")[2]: f"{bits:x}"
        for path, bits in _executed.items()
    }
    if item.session.testsfailed == failed_before:
        note = {"test": item.nodeid, "seconds": round(seconds, 4), "lines": lines}
        _notes.write(json.dumps(note) + "\n")
        _notes.flush()
    return result


def pytest_sessionfinish() -> None:
    sys.monitoring.set_events(_TOOL, 0)
