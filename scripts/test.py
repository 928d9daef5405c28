"""Run all checks of the project. The last line is the sum: N passed, N failed, N skipped.

    python3 scripts/test.py                     every test, of those with many cases some
    python3 scripts/test.py --thorough          every case of every test in every run: for a release
    python3 scripts/test.py --quick             lint, docs, core, one Blender; one case of each test
    python3 scripts/test.py --only 5.2          only the runs whose name contains this
    python3 scripts/test.py --only core -- -k limits -x      what follows -- goes to pytest
    BLENDER=/path/to/blender python3 scripts/test.py         also inside that application
    BLENDER=/path/to/blender python3 scripts/test.py --only window      only what people see there

The run "window" installs the zip in a Blender with a window and uses all of it, by mouse and keys:
in the one that BLENDER names, else in the one on the path. It needs a display, or Xvfb to make one.
Its pictures and what Blender printed are in out/window and out/gizmos.

Needs nothing but this Python (3.9 or newer): environments are installed on first use.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import os
import re
import shutil
import sys
import tempfile
import time
from typing import Callable

import build_docs
import environment
from common.console import ROOT, say, stream
from common.python_finder import UnavailableError

# Newest first: what most people run tells the most.
BLENDER_VERSIONS = ("5.2", "4.2", "4.5", "5.0")
OLDEST_BLENDER, OLDEST = "4.2", "core-3.11"
QUICK_RUNS = ("lint", "docs", OLDEST)
NOT_SLOW, SLOW = ("-m", "not slow"), ("-m", "slow and not exhaustive")
ON_OLDEST = ("-m", "not slow or (oldest and not exhaustive)")
ONE_CASE = ("--few", "1")
# Every test runs, of many cases these many, spread evenly: what no case of a test has told of the
# newest Blender, more of them have hardly ever told, of an older one still less.
CASES = {"core-slow": 12, "bpy-5.2": 8, "bpy-4.2": 3, "core-newest": 3}

# Runs go on side by side: threads of their own for small systems would only wait for each other.
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")}

LINT_CHECKS = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"])

# pytest's word in its last line -> the field that counts it.
_COUNTED_AS = {
    "passed": "passed",
    "xpassed": "passed",
    "failed": "failed",
    "error": "failed",
    "errors": "failed",
    "skipped": "skipped",
    "xfailed": "skipped",
}
_NO_TESTS_COLLECTED = 5


@dataclasses.dataclass
class Outcome:
    """How many checks of a run passed, failed or were skipped, and the lines that name failures."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        """Return the counts as the last line shows them."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def lint(label: str) -> Outcome:
    """Run the linter, the formatter and the type checker; each counts as one check."""
    python = environment.ensure("lint")
    outcome = Outcome()
    for check in LINT_CHECKS:
        code, output = stream(label, [str(python), "-m", *check], lambda line: None)
        outcome.passed += code == 0
        outcome.failed += code != 0
        if code != 0:
            outcome.failures.append(f"FAILED {' '.join(check)}")
        say(label, f"{' '.join(check)}: {'ok' if code == 0 else 'FAILED'}")
        if code != 0:
            say(label, *output)
    return outcome


def check_docs(label: str) -> Outcome:
    """Build the site of the documentation, warnings as errors, and run its examples."""
    start, outcome = time.monotonic(), Outcome()
    for builder in build_docs.BUILDERS:
        errors = build_docs.build(label, builder, is_check=True)
        outcome.passed += not errors
        outcome.failed += bool(errors)
        if errors:
            outcome.failures.append(f"FAILED scripts/build_docs.py --check ({builder})")
            say(label, *errors)
    say(label, f"{outcome} in {time.monotonic() - start:.0f} s")
    return outcome


def run_in_environment(
    label: str, arguments: list[str], name: str = "", **variables: str
) -> Outcome:
    """Run pytest in a virtual environment, named as the run unless told."""
    python = environment.ensure(name or label)
    return _run_pytest(label, [str(python), "-m", "pytest"], arguments, **variables)


def run_in_window(label: str, arguments: list[str]) -> Outcome:
    """Run the tests that start a full Blender by themselves.

    Raises:
        UnavailableError: If there is none.
    """
    named = os.environ.get("BLENDER", "")
    blender = shutil.which(named or "blender")
    if named and blender is None:
        say(label, f"BLENDER={named} is not a program")
        return Outcome(failed=1)
    if blender is None:
        raise UnavailableError(
            "the variable BLENDER names no full Blender, and none is on the path"
        )
    return run_in_environment(label, arguments, OLDEST, BLENDER=os.path.abspath(blender))


def run_in_application(label: str, arguments: list[str]) -> Outcome:
    """Run pytest inside the application that the variable BLENDER names."""
    blender = shutil.which(os.environ["BLENDER"])
    if blender is None:
        say(label, f"BLENDER={os.environ['BLENDER']} is not a program")
        return Outcome(failed=1)
    blender = os.path.abspath(blender)
    ask = "import sys; print('PYTHON %d.%d' % sys.version_info[:2])"
    question = [blender, "--background", "--factory-startup", "--python-expr", ask]
    _, output = stream(label, question, lambda line: None, timeout=120)
    version = re.search(r"^PYTHON (\S+)$", "\n".join(output), re.MULTILINE)
    if version is None:
        say(label, f"BLENDER={blender} did not answer which Python it has:", *output)
        return Outcome(failed=1)
    environment.ensure_packages(version.group(1))
    command = [blender, "--background", "--factory-startup", "--python-exit-code", "3"]
    command += ["--python", str(ROOT / "scripts" / "common" / "run_in_blender.py"), "--"]
    return _run_pytest(label, command, arguments)


def _run_pytest(label: str, command: list[str], arguments: list[str], **variables: str) -> Outcome:
    """Run pytest, print its progress, all of its output if it failed, and its last line."""
    start = time.monotonic()
    cache = f"cache_dir={environment.FOLDER / 'pytest_cache' / label}"
    # Tests see a Blender without this person's preferences, and write nothing into them.
    with tempfile.TemporaryDirectory(prefix="chain_ik_test_") as user_folder:
        env = {**os.environ, **ONE_THREAD, "BLENDER_USER_RESOURCES": user_folder, **variables}
        full_command = [*command, "-q", "-rsfE", "-o", cache, *arguments]
        code, output = stream(label, full_command, _progress, env=env)
    outcome = count_results(output)
    is_empty_selection = code == _NO_TESTS_COLLECTED and "-k" in arguments
    if code != 0 and not outcome.failed and not is_empty_selection:
        # A crash, or an error before any test ran.
        outcome.failed = 1
        output.append(f"pytest ended with exit code {code}")
    outcome.failures = [line for line in output if line.startswith(("FAILED ", "ERROR "))]
    if outcome.failed:
        say(label, *(line for line in output if not _progress(line)))
    say(label, f"{outcome} in {time.monotonic() - start:.0f} s")
    return outcome


def _progress(line: str) -> str | None:
    """Keep the lines with a percentage, and the reasons of skipped tests."""
    return line if re.search(r"\[ *\d+%\]$", line) or line.startswith("SKIPPED") else None


def count_results(output: list[str]) -> Outcome:
    """Add up the words of pytest's last line, such as `2 failed, 5 passed in 0.1s`."""
    outcome = Outcome()
    summaries = [line for line in output if re.search(r"\bin \d+\.\d+s\b", line)]
    for number, word in re.findall(r"(\d+) (\w+)", summaries[-1] if summaries else ""):
        field = _COUNTED_AS.get(word)
        if field:
            setattr(outcome, field, getattr(outcome, field) + int(number))
    return outcome


def plan_runs(options: argparse.Namespace) -> dict[str, Callable[[str], Outcome]]:
    """Return the runs that the command line asks for: name -> what to call with the name."""
    extra = [*NOT_SLOW, *ONE_CASE, *options.pytest] if options.quick else options.pytest
    core_tests = [
        str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").glob("test_*.py"))
    ]

    def cases(name: str) -> list[str]:
        is_whole = options.thorough or options.quick or options.only
        return extra if is_whole else ["--few", str(CASES.get(name, 1)), *extra]

    runs: dict[str, Callable[[str], Outcome]] = {"lint": lint, "docs": check_docs}
    # The longest are begun first, so that no core waits at the end.
    if not options.quick:
        slow = ["tests/core", *core_tests, *SLOW, *cases("core-slow")]
        runs["core-slow"] = lambda label: run_in_environment(label, slow, OLDEST)
    for version in BLENDER_VERSIONS:
        # Slow tests have hardly ever told of an older Blender what they do not of the newest, but
        # for what random and spoiled input does.
        some = {BLENDER_VERSIONS[0]: (), OLDEST_BLENDER: ON_OLDEST}.get(version, NOT_SLOW)
        few = [*([] if options.thorough else some), *cases(f"bpy-{version}")]
        runs[f"bpy-{version}"] = lambda label, few=few: run_in_environment(
            label, ["tests/blender", *few]
        )
    # The core knows no Blender: all of it on its oldest Python and NumPy. What the newest do
    # otherwise shows in any case of a test.
    runs[OLDEST] = lambda label: run_in_environment(
        label, ["tests/core", *core_tests, *NOT_SLOW, *extra]
    )
    newest = f"bpy-{BLENDER_VERSIONS[0]}"
    core = [*([] if options.thorough else NOT_SLOW), *cases("core-newest")]
    runs["core-newest"] = lambda label: run_in_environment(label, ["tests/core", *core], newest)
    if os.environ.get("BLENDER"):
        runs["application"] = lambda label: run_in_application(label, ["tests/blender", *extra])
    runs["window"] = lambda label: run_in_window(label, ["tests/window", *options.pytest])
    if options.quick and not options.only:
        # Two halves, side by side.
        halves = {f"{newest}, {'ab'[half]}": half for half in range(2)}
        quick = {
            name: lambda label, half=half: run_in_environment(
                label, ["tests/blender", "--half", str(half), *extra], newest
            )
            for name, half in halves.items()
        }
        others = (*QUICK_RUNS, "application")
        runs = quick | {name: run for name, run in runs.items() if name in others}
    if options.only:
        runs = {name: run for name, run in runs.items() if options.only in name}
    return runs


def carry_out(name: str, run: Callable[[str], Outcome]) -> Outcome:
    """Carry out one run; a machine that cannot have it counts as one skip, and is told why."""
    say(name, "started")
    try:
        return run(name)
    except UnavailableError as reason:
        say(name, f"SKIPPED: {reason}")
        return Outcome(skipped=1)
    except environment.InstallError as error:
        say(name, f"FAILED: {error}")
        return Outcome(failed=1)


def parse_command_line() -> argparse.Namespace:
    """Return the options; `pytest` holds what follows `--`."""
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one Blender, one case of each test")
    parser.add_argument("--thorough", action="store_true", help="every test in every run")
    parser.add_argument(
        "--only",
        metavar="NAME",
        help="lint, docs, core, 5.2, 4.2, 4.5, 5.0, application, window",
    )
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="at a time")
    options = parser.parse_args(arguments[:split])
    options.pytest = arguments[split + 1 :]
    return options


def main() -> int:
    """Carry out the runs and print the sum."""
    options = parse_command_line()
    start = time.monotonic()
    runs = plan_runs(options)
    if not runs:
        sys.exit(f"No run has '{options.only}' in its name.")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = dict(zip(runs, pool.map(carry_out, runs, runs.values())))
    print(f"\nAll runs, {time.monotonic() - start:.0f} s:")
    for name, outcome in outcomes.items():
        print(f"  {name:12} {outcome}")
        # Logs may be cut: what failed stands at their end.
        for line in outcome.failures:
            print(f"    {line}")
    total = Outcome(
        sum(outcome.passed for outcome in outcomes.values()),
        sum(outcome.failed for outcome in outcomes.values()),
        sum(outcome.skipped for outcome in outcomes.values()),
    )
    print(total)
    # Nothing tested is not a success.
    return 0 if total.passed and not total.failed else 1


if __name__ == "__main__":
    sys.exit(main())
