"""Measure whole Blender updates and the core against other solvers, in one run, in turn.

    python3 scripts/benchmark.py                           with Blender's own constraint only
    python3 scripts/benchmark.py --rivals all              with the packages it can be held against
    python3 scripts/benchmark.py --only "50-bone"          only the rows whose text contains this
    python3 scripts/benchmark.py --stages                  only where the time of an update goes
    python3 scripts/benchmark.py --limits                  only what limited joints reach, and when
    python3 scripts/benchmark.py --characters              only snakes, tails and trees
    python3 scripts/benchmark.py --settings                only Rigify's human, and every setting
    python3 scripts/benchmark.py --settings --only FABRIK  only the settings whose names have this
    python3 scripts/benchmark.py --held-back               only targets beyond what limits allow
    python3 scripts/benchmark.py --calls                   only calls of NumPy, without a clock
    python3 scripts/benchmark.py --calls --against ../old  the same, beside another checkout
    python3 scripts/benchmark.py --rivals pin,fullik --rounds 9 --blender-version 4.2

Needs nothing but this Python (3.9 or newer): Blender and the rivals are installed inside the
checkout on first use; fullik needs node and npm. What counts is the ratio, a median over rounds
in which both did the same work one after the other; milliseconds differ between machines.
Prints a table, writes it with all figures (table.md, results.json) and a picture (plot.png).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import environment
from benchmarks import characters, limits, settings, stages
from benchmarks.held_back import page as held_back
from benchmarks.measuring import Group, groups_of
from benchmarks.programs import ALL_RIVALS, Programs, interpreter
from benchmarks.rows import ROWS, Row
from benchmarks.tables.ratios import Result
from benchmarks.tables.table import drawing, summary, table
from common.console import ROOT, say, stream
from common.python_finder import UnavailableError

NEWEST = "5.2"
VERSIONS = [name[4:] for name in environment.ENVIRONMENTS if name.startswith("bpy-")]
LEAST_ROUNDS = 5
TITLES = {
    "table": "The whole table",
    "stages": "Stages of an update",
    "settings": "Every setting",
    "limits": "Limits",
    "characters": "Snakes, tails and trees",
}
"""Of the pages that are written, which are pages of the documentation."""


def chosen(only: str) -> list[Row]:
    """Return the rows whose group, work or rival contains a text."""
    return [
        row
        for row in ROWS
        if only.lower() in f"{row.group}\n{row.work}\n{row.rival and row.rival.label}".lower()
    ]


def write_page(folder: Path, name: str, text: str) -> None:
    """Write a page with its title into a folder, which is made, and print it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"# {TITLES[name]}\n\n{text}\n", encoding="utf-8")
    print(f"\n{text}\n\nwritten: {os.path.relpath(folder)}")


def write_settings(programs: Programs, options: argparse.Namespace) -> None:
    """Measure what every setting costs, write and draw it."""
    figures = settings.measured(programs, options.rounds, options.only)
    head = heading(_versions(programs), options.rounds)
    write_page(options.output, "settings", f"{head}\n\n{settings.table(figures)}")
    _draw(settings.drawing(figures), options.output / "settings.png")


PAGES = {"stages": stages.measured, "limits": limits.measured, "characters": characters.measured}
"""Pages without pictures, by their options."""


def write_table(programs: Programs, options: argparse.Namespace) -> list[Result]:
    """Measure the rows, write the table, all figures, and the picture; return the results."""
    results: list[Result] = []
    versions = _versions(programs)
    for name, group in groups_of(chosen(options.only)).items():
        start = time.monotonic()
        results += Group(group, programs, options.rivals).measure(options.rounds)
        say(name, f"measured in {time.monotonic() - start:.0f} s")
    head = heading(versions, options.rounds)
    write_page(options.output, "table", f"{head}\n\n{table(results)}\n\n{summary(results)}")
    contents = {
        "versions": versions,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "rounds": options.rounds,
        "summary": summary(results),
        "rows": [result.as_json() for result in results],
    }
    file = options.output / "results.json"
    file.write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")
    title = f"{head.partition(';')[0]}; {summary(results)}"
    _draw(drawing(results, title), options.output / "plot.png")
    return results


def _versions(programs: Programs) -> dict[str, str]:
    worker = programs.start("built-in", "1 x 4 x 2")
    versions: dict[str, str] = worker.ask("versions")
    worker.close()
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    found = re.search(r'^version *= *"([^"]+)"', manifest, re.MULTILINE)
    return {**versions, "chain_ik": found.group(1) if found else "unknown"}


def heading(versions: dict[str, str], rounds: int) -> str:
    """Return what stood on both sides, and where."""
    return (
        f"Chain IK {versions['chain_ik']} in Blender {versions['blender']}, Python "
        f"{versions['python']}, NumPy {versions['numpy']}; {platform.system()} on "
        f"{platform.machine()}, {os.cpu_count()} cores; {rounds} rounds in turn. "
        "L is a chain's length."
    )


def _draw(drawn: dict[str, Any], picture: Path) -> None:
    """Draw a picture, where there is something to draw."""
    if not drawn["panels"]:
        return
    label = "drawing-3.13"
    # Matplotlib's list of fonts would else go into the person's own folder.
    own = {"MPLCONFIGDIR": str(environment.FOLDER / label / "matplotlib")}
    with tempfile.TemporaryDirectory(prefix="chain_ik_benchmark_") as folder:
        file = Path(folder) / "drawing.json"
        file.write_text(json.dumps(drawn), encoding="utf-8")
        python = str(interpreter(label))
        command = [python, "-m", "benchmarks.tables.plot", str(file), str(picture)]
        variables = environment.python_variables(own)
        code, output = stream(label, command, lambda line: None, env=variables)
    if code != 0:
        say(label, *output)
        sys.exit("The picture could not be drawn.")


def parse_command_line() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blender-version", choices=VERSIONS, default=NEWEST, help=NEWEST)
    parser.add_argument("--rivals", default="", help=f"all, or some of {','.join(ALL_RIVALS)}")
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS, help="at least 5 for figures")
    parser.add_argument("--only", default="", metavar="TEXT", help="part of a row's text")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmark", metavar="DIR")
    parser.add_argument("--stages", action="store_true", help="where the time of an update goes")
    parser.add_argument("--limits", action="store_true", help="what limited joints reach")
    parser.add_argument("--characters", action="store_true", help="snakes, tails and trees")
    parser.add_argument("--settings", action="store_true", help="what every setting costs")
    parser.add_argument("--held-back", action="store_true", help="targets out of limits' reach")
    parser.add_argument("--calls", action="store_true", help="calls of NumPy, counted")
    parser.add_argument(
        "--against", type=Path, metavar="DIR", help="a checkout to compare these with"
    )
    options = parser.parse_args()
    names = ALL_RIVALS if options.rivals == "all" else options.rivals.split(",")
    options.rivals = [name.strip() for name in names if name.strip()]
    unknown = [name for name in options.rivals if name not in ALL_RIVALS]
    if unknown:
        parser.error(f"no rival {', '.join(unknown)}; there are {', '.join(ALL_RIVALS)}")
    if options.rounds < 1:
        parser.error("a ratio needs one round or more")
    return options


def main() -> int:
    """Measure, print, write. Fails where this project's own side could not be measured."""
    options = parse_command_line()
    if options.held_back or options.calls:
        rounds = None if options.calls else options.rounds
        print(f"\n{held_back.made(options.against, options.only, rounds)}\n")
        return 0
    if not chosen(options.only) and not options.settings:
        sys.exit(f"No row has '{options.only}' in its text.")
    results: list[Result] = []
    try:
        with tempfile.TemporaryDirectory(prefix="chain_ik_benchmark_") as folder:
            programs = Programs(f"bpy-{options.blender_version}", Path(folder))
            pages = [name for name in PAGES if getattr(options, name)]
            for name in pages:
                write_page(options.output, name, PAGES[name](programs))
            if options.settings:
                write_settings(programs, options)
            elif not pages:
                results = write_table(programs, options)
    except (UnavailableError, environment.InstallError) as error:
        sys.exit(str(error))
    return 1 if any(result.is_broken for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
