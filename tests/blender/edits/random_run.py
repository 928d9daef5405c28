"""Edit files at random, with steps drawn from a seed for each file, and print what went wrong.

A separate process edits a few files. If Blender crashes there, this is a finding, and the next
files follow. A file ends at its first finding. ``scripts/edit_at_random.py`` says how to start it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[3]
STEPS_PER_FILE = 100
"""Steps of a file: with more, files are full; with fewer, most steps are first ones."""
FILES_PER_PROCESS = 10
"""Files that one process edits; a process takes two seconds to start."""
SECONDS_PER_FILE = 100
"""Time allowed for one file; a process that takes longer, times its files, hangs."""
EDIT_SHARES = (1.0, 0.5, 0.2)
"""Shares of all edits that a file uses: with fewer edits, the same ones follow each other often."""


class Finding(NamedTuple):
    """A fault, with the step that caused it."""

    seed: int
    step: int
    edit: str
    text: str

    def __str__(self) -> str:
        return f"seed {self.seed}, step {self.step}, {self.edit}\n    {self.text.strip()}"


class Job(NamedTuple):
    """The work of one process: files, their number of steps, the only steps and edits to use."""

    seeds: tuple[int, ...]
    steps: int
    only: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()


def steps_of(seed: int, job: Job) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the steps of a file: number from 1 on, name of the edit, and its drawn values.

    The values of a step depend on seed, number and edit only.
    """
    from tests.blender.edits.random_draws import EDITS, draw

    edits, rng = sorted(EDITS), random.Random(str(seed))
    if job.kinds:
        known = [name for name in edits if any(kind in name for kind in job.kinds)]
    else:
        names, share = [name for name in edits if name[0] != "_"], rng.choice(EDIT_SHARES)
        known = [name for name in names if rng.random() < share] or names
    for number in range(1, job.steps + 1):
        name = random.Random(f"{seed} {number}").choice(known)
        if not job.only or number in job.only:
            yield number, name, draw(EDITS[name].drawn, f"{seed} {number} {name}")


def edit_file(
    seed: int, job: Job, report: Callable[[dict[str, Any]], None] = lambda _: None
) -> Finding | None:
    """Make and edit the file of a seed; return the first finding, or None.

    Each step is reported before it is carried out.
    """
    from tests.blender.edits.random_edits import RandomEdits

    machine, last = RandomEdits(seed), {"seed": seed, "step": 0, "edit": "make_rigs()"}
    try:
        report(last)
        machine.make_rigs()
        for number, name, values in steps_of(seed, job):
            arguments = ", ".join(f"{key}={value!r}" for key, value in values.items())
            last.update(step=number, edit=f"{name}({arguments})")
            report(last)
            machine.carry_out(name, **values)
    except AssertionError as error:
        return Finding(**last, text=str(error))
    finally:
        machine.close()
    return None


def work(job: Job, notes: Path) -> None:
    """Edit the files of a job, and write each step and each finding to the notes at once."""
    import blender_ik_addon

    blender_ik_addon.register()
    with notes.open("a", buffering=1) as file:
        for seed in job.seeds:
            finding = edit_file(seed, job, lambda step: print(json.dumps(step), file=file))
            if finding is not None:
                print(json.dumps({"finding": finding}), file=file)
    os._exit(0)  # Blender as a module may crash at the normal end of the process


def run(job: Job) -> tuple[list[Finding], int]:
    """Edit the files of a job in a separate process.

    Returns:
        The findings, and the number of steps that were carried out.
    """
    findings: list[Finding] = []
    count, waiting = 0, job.seeds
    while waiting:
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder, "notes")
            notes.touch()
            crash = _run_process(job._replace(seeds=waiting), notes)
            lines = [json.loads(line) for line in notes.read_text().splitlines()]
        steps = [line for line in lines if "finding" not in line]
        findings += [Finding(*line["finding"]) for line in lines if "finding" in line]
        count += sum(step["step"] > 0 for step in steps)
        if not crash:
            break
        last = steps[-1] if steps else {"seed": waiting[0], "step": 0, "edit": "start"}
        findings.append(Finding(last["seed"], last["step"], last["edit"], crash))
        waiting = waiting[waiting.index(last["seed"]) + 1 :]
    return findings, count


def _run_process(job: Job, notes: Path) -> str:
    """Return how a process has crashed; an empty text if it has not."""
    code = (
        "import json, sys, pathlib; from tests.blender.edits import random_run as r;"
        f" r.work(r.Job(*json.loads({json.dumps(json.dumps(job))})), pathlib.Path({str(notes)!r}))"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
    }
    seconds, pipes = SECONDS_PER_FILE * len(job.seeds), {"stdout": subprocess.DEVNULL}
    pipes["stderr"], bpy = subprocess.PIPE, sys.modules.get("bpy")
    command = [sys.executable, "-c", code]
    if bpy is not None and bpy.app.binary_path:
        application = [bpy.app.binary_path, "--background", "--factory-startup"]
        command = [*application, "--python-expr", code]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, timeout=seconds, **pipes)
    except subprocess.TimeoutExpired:
        return f"hung for {seconds} s"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"Blender went down with signal {-done.returncode}"
    errors = done.stderr.decode(errors="replace").splitlines()
    return f"ended with code {done.returncode}: " + "\n".join(errors[-12:])


def jobs(first: int, steps: int, kinds: Sequence[str]) -> Iterator[Job]:
    """Yield jobs without end, each with the files of one process."""
    if steps <= STEPS_PER_FILE:
        yield Job((first,), steps, (), tuple(kinds))
        return
    for start in itertools.count(first, FILES_PER_PROCESS):
        yield Job(tuple(range(start, start + FILES_PER_PROCESS)), STEPS_PER_FILE, (), tuple(kinds))


def shrink(job: Job) -> tuple[Job, Finding | None]:
    """Leave out all steps of a file that a finding does not need."""
    findings, _ = run(job)
    if not findings:
        return job, None
    steps = [number for number in job.only or range(1, findings[0].step + 1)]
    size = max(1, len(steps) // 2)
    while size:
        start = 0
        while start < len(steps):
            fewer = steps[:start] + steps[start + size :]
            repeated, _ = run(job._replace(only=tuple(fewer) or (0,)))
            if repeated:
                steps, findings = [n for n in fewer if n <= repeated[0].step], repeated
            else:
                start += size
        size //= 2
    return job._replace(only=tuple(steps)), findings[0]


def command_of(job: Job, finding: Finding) -> str:
    """Return the command that repeats a finding."""
    words = [f"--seed {finding.seed}", f"--steps {max(1, finding.step)}"]
    if job.only:
        words.append("--only-steps " + ",".join(map(str, job.only)))
    words += [f"--kinds {','.join(job.kinds)}"] * bool(job.kinds)
    return "python3 scripts/edit_at_random.py " + " ".join(words)


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first file")
    parser.add_argument("--steps", type=int, default=STEPS_PER_FILE, help="how many in all")
    parser.add_argument("--only-steps", default="", help="numbers of the steps of the one file")
    parser.add_argument("--kinds", default="", help="parts of the names of edits, with commas")
    parser.add_argument("--shrink", action="store_true", help="find the fewest steps of one file")
    options = parser.parse_args(list(arguments) if arguments is not None else None)
    kinds = tuple(filter(None, options.kinds.split(",")))
    only = tuple(map(int, filter(None, options.only_steps.split(","))))
    if options.shrink:
        job, finding = shrink(Job((options.seed,), options.steps, only, kinds))
        print(finding or "nothing was found", command_of(job, finding) if finding else "", sep="\n")
        return int(finding is not None)
    start, count, total = time.monotonic(), 0, 0
    for job in jobs(options.seed, options.steps, kinds):
        findings, done = run(job._replace(only=only))
        count, total = count + done, total + len(findings)
        for finding in findings:
            print(finding, f"    {command_of(job, finding)}", sep="\n", flush=True)
        if count >= options.steps:
            break
    seconds = time.monotonic() - start
    print(f"{total} findings in {count} steps, {count / seconds:.0f} steps a second")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
