"""Run all checks of the project. The last line is the sum: N passed, N failed, N skipped.

    python3 scripts/test.py                     every test; some cases of tests with many
    python3 scripts/test.py --thorough          every case of every test in every run: for a release
    python3 scripts/test.py --quick             lint, docs, core, one Blender; three tests a file
    python3 scripts/test.py --only 5.2          only runs whose name contains this
    python3 scripts/test.py --only core -- -k limits -x      options after -- go to pytest
    BLENDER=/path/to/blender python3 scripts/test.py         also inside that application
    BLENDER=/path/to/blender python3 scripts/test.py --only window      only the tests in its window

The run "window" installs the zip in a Blender with a window and uses all of it, by mouse and keys.
It starts the Blender that BLENDER names, otherwise the one on the path. It needs a display or Xvfb.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import functools
import os
import re
import shutil
import sys
import time
from collections import Counter
from typing import Callable

import build_docs
import environment
from common.console import ROOT, say, stream

# Newest first: most people run it, so its results matter most.
BLENDER_VERSIONS = NEWEST_BLENDER, OLDEST_BLENDER, *_ = ("5.2", "4.2", "4.5", "5.0")
NEWEST, OLDEST = f"bpy-{NEWEST_BLENDER}", "core-3.11"
QUICK_RUNS = ("lint", "docs", OLDEST, "application")
NOT_SLOW = ("-m", "not slow and not exhaustive")
SLOW = ("-m", "slow and not exhaustive")
ON_OLDEST = ("-m", "(not slow or oldest) and not exhaustive")
# A quick run tests every file a little.
QUICK = (*NOT_SLOW, "--few", "1", "--tests", "3")
# Every test runs with at most this number of cases, spread evenly. If these find no fault in the
# newest Blender, more cases have hardly ever found one, and in older versions even less.
CASES = {"core-slow": 12, "bpy-5.2": 7, "bpy-4.2": 3, "core-newest": 3}
# The versions between the oldest and the newest share the work: each runs half of the files.
HALVES = {"bpy-4.5": ("--half", "0"), "bpy-5.0": ("--half", "1")}

# The Python of the application is the user's: import pytest from a separate folder.
APPLICATION_CODE = """import sys
sys.path[:0] = {paths}
import pytest
sys.exit(int(pytest.main(sys.argv[sys.argv.index("--") + 1 :])))
"""

LINT_CHECKS = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"])

# Words in the last line of pytest, by the field that counts them.
_WORDS = {
    "passed": ("passed", "xpassed"),
    "failed": ("failed", "error", "errors"),
    "skipped": ("skipped", "xfailed"),
}
_NO_TESTS_COLLECTED = 5


@dataclasses.dataclass
class Outcome:
    """The counts of passed, failed and skipped checks of a run, and lines that name failures."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        """Return the counts as in the last line."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def lint(label: str) -> Outcome:
    """Run the linter, the formatter and the type checker, each as one check."""
    python, errors = str(environment.ensure("lint")), dict[str, list[str]]()
    for check in LINT_CHECKS:
        code, output = stream(label, [python, "-m", *check])
        errors[" ".join(check)] = (output or [f"exit code {code}"]) if code else []
    return _count_checks(label, errors)


def check_docs(label: str) -> Outcome:
    """Build the site of the documentation with warnings as errors, and run its examples."""
    build = functools.partial(build_docs.build, label, is_check=True)
    return _count_checks(label, {f"docs, {kind}": build(kind) for kind in build_docs.BUILDERS})


def _count_checks(label: str, errors: dict[str, list[str]]) -> Outcome:
    for check, faults in errors.items():
        say(label, f"{check}: {'FAILED' if faults else 'ok'}", *faults)
    failures = [f"FAILED {check}" for check, faults in errors.items() if faults]
    return Outcome(len(errors) - len(failures), len(failures), failures=failures)


def run_in_environment(label: str, arguments: list[str], name: str, **variables: str) -> Outcome:
    """Run pytest in a virtual environment."""
    python = environment.ensure(name)
    return _run_pytest(label, [str(python), "-m", "pytest"], arguments, **variables)


def run_in_window(label: str, arguments: list[str]) -> Outcome:
    """Run the tests that start a full Blender; if there is none, they print why they skip."""
    variable = os.environ.get("BLENDER", "")
    program = shutil.which(variable or "blender")
    blender = os.path.abspath(program) if program else variable
    return run_in_environment(label, arguments, OLDEST, BLENDER=blender)


def run_in_application(label: str, arguments: list[str]) -> Outcome:
    """Run pytest inside the application that the variable BLENDER names."""
    path = os.environ["BLENDER"]
    start = [os.path.abspath(shutil.which(path) or path), "--background", "--factory-startup"]
    query = "import sys; print('PYTHON %d.%d' % sys.version_info[:2])"
    try:
        _, output = stream(label, [*start, "--python-expr", query])
    except OSError as error:
        output = [str(error)]
    versions = [line[7:] for line in output if line.startswith("PYTHON ")]
    if not versions:
        say(label, f"BLENDER={path} did not answer which Python it has:", *output)
        return Outcome(failed=1)
    paths = [str(environment.ensure_packages(versions[0])), str(ROOT)]
    code = APPLICATION_CODE.format(paths=paths)
    command = [*start, "--python-exit-code", "3", "--python-expr", code, "--"]
    return _run_pytest(label, command, arguments)


def _run_pytest(label: str, command: list[str], arguments: list[str], **variables: str) -> Outcome:
    """Run pytest, print its progress, all of its output if it failed, and its last line."""
    start = time.monotonic()
    cache = f"cache_dir={environment.FOLDER / 'pytest_cache' / label}"
    with environment.isolated_variables(**variables) as env:
        full_command = [*command, "-q", "-rsfE", "-o", cache, *arguments]
        code, output = stream(label, full_command, _progress, env=env)
    outcome = count_results(output)
    is_empty_selection = code == _NO_TESTS_COLLECTED and "-k" in arguments
    if code != 0 and not outcome.failed and not is_empty_selection:
        # pytest crashed, or failed before any test ran.
        outcome.failed = 1
        output.append(f"pytest ended with exit code {code}")
    outcome.failures = [line for line in output if line.startswith(("FAILED ", "ERROR "))]
    if outcome.failed:
        say(label, *(line for line in output if not _progress(line)))
    say(label, f"{outcome} in {time.monotonic() - start:.0f} s")
    return outcome


def _progress(line: str) -> str | None:
    """Return a line with a percentage or the reason of a skipped test, otherwise None."""
    return line if re.search(r"\[ *\d+%\]$", line) or line.startswith("SKIPPED") else None


def count_results(output: list[str]) -> Outcome:
    """Return the counts in the last line of pytest, for example `2 failed, 5 passed in 0.1s`."""
    summaries = [line for line in output if re.search(r"\bin \d+\.\d+s\b", line)]
    pairs = re.findall(r"(\d+) (\w+)", summaries[-1] if summaries else "")
    counts = Counter({word: int(number) for number, word in pairs})
    return Outcome(*(sum(counts[word] for word in words) for words in _WORDS.values()))


def plan_runs(options: argparse.Namespace) -> dict[str, Callable[[str], Outcome]]:
    """Return the runs that the options select: name -> function to call with the name."""
    extra = [*QUICK, *options.pytest] if options.quick else options.pytest
    is_whole = options.thorough or options.quick or options.only
    core = ["tests/core", *sorted(str(path) for path in (ROOT / "tests").glob("test_*.py"))]

    def pytest(name: str, *arguments: str, label: str = "") -> Callable[[str], Outcome]:
        options = [*arguments, *extra]
        if label and not is_whole:
            options += ["--few", str(CASES.get(label, 1)), *HALVES.get(label, ())]
        return lambda label: run_in_environment(label, options, name)

    runs: dict[str, Callable[[str], Outcome]] = {"lint": lint, "docs": check_docs}
    # Start the longest runs first, so that no core waits at the end.
    if not options.quick:
        runs["core-slow"] = pytest(OLDEST, *core, *SLOW, label="core-slow")
    for version in BLENDER_VERSIONS:
        # Slow tests have hardly ever found a fault in an older Blender that the newest does not
        # show, except with random and spoiled input.
        marks = {NEWEST_BLENDER: (), OLDEST_BLENDER: ON_OLDEST}.get(version, NOT_SLOW)
        name, marks = f"bpy-{version}", () if options.thorough else marks
        runs[name] = pytest(name, "tests/blender", *marks, label=name)
    # The core needs no Blender: test all of it on the oldest Python and NumPy. If the newest
    # differ, any case of a test shows it.
    runs[OLDEST] = pytest(OLDEST, *core, *NOT_SLOW)
    marks = () if options.thorough else NOT_SLOW
    runs["core-newest"] = pytest(NEWEST, "tests/core", *marks, label="core-newest")
    if os.environ.get("BLENDER"):
        runs["application"] = lambda label: run_in_application(label, ["tests/blender", *extra])
    runs["window"] = lambda label: run_in_window(label, ["tests/window", *options.pytest])
    if options.only:
        return {name: run for name, run in runs.items() if options.only in name}
    if not options.quick:
        return runs
    # Run two halves in parallel.
    halves = {
        f"{NEWEST}, {name}": pytest(NEWEST, "tests/blender", "--half", half)
        for name, half in (("a", "0"), ("b", "1"))
    }
    return {**halves, **{name: run for name, run in runs.items() if name in QUICK_RUNS}}


def carry_out(name: str, run: Callable[[str], Outcome]) -> Outcome:
    """Carry out a run; count one skip, and print why, if this machine cannot run it."""
    say(name, "started")
    try:
        return run(name)
    except environment.UnavailableError as reason:
        word = "failed" if isinstance(reason, environment.InstallError) else "skipped"
        say(name, f"{word.upper()}: {reason}")
        return Outcome(**{word: 1})


def parse_command_line() -> argparse.Namespace:
    """Return the options; `pytest` holds those after `--`."""
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one Blender, three tests a file")
    parser.add_argument("--thorough", action="store_true", help="every test in every run")
    only = "lint, docs, core, 5.2, 4.2, 4.5, 5.0, application, window"
    parser.add_argument("--only", metavar="NAME", help=only)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="at a time")
    options = parser.parse_args(arguments[:split])
    options.pytest = arguments[split + 1 :]
    return options


def main() -> int:
    options = parse_command_line()
    start = time.monotonic()
    runs = plan_runs(options)
    if not runs:
        sys.exit(f"No run has '{options.only}' in its name.")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = dict(zip(runs, pool.map(carry_out, runs, runs.values())))
    print(f"\nAll runs, {time.monotonic() - start:.0f} s:")
    for name, outcome in outcomes.items():
        # Logs may be cut: repeat the failures at the end.
        print(f"  {name:12} {outcome}", *outcome.failures, sep="\n    ")
    counts = ((outcome.passed, outcome.failed, outcome.skipped) for outcome in outcomes.values())
    total = Outcome(*map(sum, zip(*counts)))
    print(total)
    # A run without any test is not a success.
    return 0 if total.passed and not total.failed else 1


if __name__ == "__main__":
    sys.exit(main())
