"""Measure whole Blender updates and the core against other solvers, in one run, in turn.

    python3 scripts/benchmark.py                           with Blender's own constraint only
    python3 scripts/benchmark.py --rivals all              with all packages it is compared with
    python3 scripts/benchmark.py --only "50-bone"          only rows whose text contains this
    python3 scripts/benchmark.py --settings                Rigify's human, and every setting
    python3 scripts/benchmark.py --limits                  what limited joints reach, and how soon
    python3 scripts/benchmark.py --held-back               targets beyond what limits allow
    python3 scripts/benchmark.py --rivals pin --rounds 9

Needs only this Python (3.9 or newer): it installs Blender and the rivals inside the checkout on
first use. fullik needs node and npm. The figure is a ratio, the median over rounds in which both
sides do the same work in turn; milliseconds differ between machines.
The first three pages are written as Markdown, the page of held back targets is printed.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import environment
from benchmarks.measuring import Result, Row, make_page, measure
from benchmarks.pages import PAGES
from benchmarks.workers import BLENDER, RIVALS, Worker, WorkerError, start
from common.console import ROOT, say

# The environment with SciPy and without Blender.
SCIPY_ENVIRONMENT = "core-3.11"


def select_rows(page: str, only: str) -> list[Row]:
    """Return the rows of a page whose group, name or rival contains a text."""
    return [
        row
        for row in PAGES[page][-1]
        if only.lower() in f"{row.group}\n{row.name}\n{row.other and row.other.label}".lower()
    ]


def measure_page(variables: dict[str, str], options: argparse.Namespace) -> list[Result]:
    """Measure the rows of a page and write it as Markdown."""

    def start_named(program: str, *arguments: str) -> Worker:
        if program in RIVALS and program not in options.rivals:
            raise environment.UnavailableError(f"--rivals does not name {program}")
        return start(variables, program, *arguments)

    page, results = options.page, list[Result]()
    title, explanation, _ = PAGES[page]
    for result in measure(select_rows(page, options.only), start_named, options.rounds):
        results.append(result)
        say(result.row.group, result.reason or f"{result.row.name}: {result.format_cell()}")
    text = f"# {title}\n\n{describe(options.rounds)}\n\n{make_page(results, explanation)}\n"
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / f"{page}.md").write_text(text, encoding="utf-8")
    print(f"\n{text}\nwritten: {os.path.relpath(options.output)}")
    return results


def describe(rounds: int) -> str:
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'^version *= *"([^"]+)"', manifest, re.MULTILINE)
    code = (
        "import platform; from importlib.metadata import version as of;"
        " print(f\"{of('bpy')}, Python {platform.python_version()}, NumPy {of('numpy')}\")"
    )
    python = environment.ensure(BLENDER)
    words = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return (
        f"Chain IK {version} in Blender {words.strip()}; {platform.system()} on"
        f" {platform.machine()}, {os.cpu_count()} cores; {rounds} rounds in turn."
    )


def parse_command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rivals", default="", help=f"all, or some of {','.join(RIVALS)}")
    parser.add_argument("--rounds", type=int, default=5, help="at least 5 for figures")
    parser.add_argument("--only", default="", metavar="TEXT", help="part of a row's text")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmark", metavar="DIR")
    for page, text in (
        ("settings", "what every setting costs"),
        ("limits", "what limited joints reach"),
        ("held-back", "targets out of limits' reach"),
    ):
        parser.add_argument(
            f"--{page}", dest="page", action="store_const", const=page, default="table", help=text
        )
    options = parser.parse_args()
    names = RIVALS if options.rivals == "all" else options.rivals.split(",")
    options.rivals = [name.strip() for name in names if name.strip()]
    unknown = [name for name in options.rivals if name not in RIVALS]
    if unknown:
        parser.error(f"no rival {', '.join(unknown)}; there are {', '.join(RIVALS)}")
    if options.rounds < 1:
        parser.error("a ratio needs one round or more")
    if options.page in PAGES and not select_rows(options.page, options.only):
        parser.error(f"no row has '{options.only}' in its text")
    return options


def main() -> int:
    """Measure, print and write; return 1 if this project's side could not be measured."""
    options = parse_command_line()
    try:
        if options.page not in PAGES:
            module = "benchmarks.core.held_back"
            return environment.run_in(SCIPY_ENVIRONMENT, "-m", module, options.only, options.rounds)
        with environment.isolated_variables(PYTHONPATH=environment.PYTHON_PATH) as variables:
            results = measure_page(variables, options)
    except (environment.UnavailableError, WorkerError) as error:
        sys.exit(str(error))
    return 1 if any(result.ours.reason for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
