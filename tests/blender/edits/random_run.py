"""Edit files at random, each in the steps that its seed tells, and print what went wrong.

A process of its own edits a few files: where Blender ends it, that is a finding, and the next
files go on. A file ends at its first finding. ``scripts/edit_at_random.py`` says how to start it.
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
LENGTH = 100
"""Steps of a file: more of them and files are full, fewer and the first ones are most of them."""
FILES = 10
"""Files of a process, which takes two seconds to start."""
SECONDS = 100
"""A process hangs that takes longer, times its files."""
SHARES = (1.0, 0.5, 0.2)
"""Of all edits a file knows so many: few of them are done more often one after the other."""


class Finding(NamedTuple):
    """What went wrong, and where."""

    seed: int
    step: int
    edit: str
    text: str

    def __str__(self) -> str:
        return f"seed {self.seed}, step {self.step}, {self.edit}\n    {self.text.strip()}"


class Job(NamedTuple):
    """What one process does, file after file: so many steps, only some of them, of some edits."""

    seeds: tuple[int, ...]
    steps: int
    only: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()


def steps_of(seed: int, job: Job) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the steps of a file: number from 1 on, edit, and what it is called with.

    What is drawn for a step depends on its number alone.
    """
    from tests.blender.edits.random_draws import EDITS, draw

    edits, rng = sorted(EDITS), random.Random(str(seed))
    if job.kinds:
        known = [name for name in edits if any(kind in name for kind in job.kinds)]
    else:
        names, share = [name for name in edits if name[0] != "_"], rng.choice(SHARES)
        known = [name for name in names if rng.random() < share] or names
    for number in range(1, job.steps + 1):
        name = random.Random(f"{seed} {number}").choice(known)
        if not job.only or number in job.only:
            yield number, name, draw(EDITS[name].drawn, f"{seed} {number} {name}")


def find(
    seed: int, job: Job, tell: Callable[[dict[str, Any]], None] = lambda _: None
) -> Finding | None:
    """Make and edit the file of a seed; return the first thing that goes wrong, or None.

    Each step is told before it is carried out.
    """
    from tests.blender.edits.random_edits import RandomEdits

    machine, last = RandomEdits(seed), {"seed": seed, "step": 0, "edit": "make_rigs()"}
    try:
        tell(last)
        machine.make_rigs()
        for number, name, values in steps_of(seed, job):
            words = ", ".join(f"{key}={each!r}" for key, each in values.items())
            last.update(step=number, edit=f"{name}({words})")
            tell(last)
            machine.carry_out(name, **values)
    except AssertionError as error:
        return Finding(**last, text=str(error))
    finally:
        machine.close()
    return None


def work(job: Job, notes: Path) -> None:
    """Edit the files of a job, and write each step and each finding down as it comes."""
    import blender_ik_addon

    blender_ik_addon.register()
    with notes.open("a", buffering=1) as file:
        for seed in job.seeds:
            finding = find(seed, job, lambda what: print(json.dumps(what), file=file))
            if finding is not None:
                print(json.dumps({"finding": finding}), file=file)
    os._exit(0)  # Blender as a module may crash at the normal end of the process


def run(job: Job) -> tuple[list[Finding], int]:
    """Edit the files of a job in a process of its own.

    Returns:
        What was found, and how many steps were carried out.
    """
    found: list[Finding] = []
    count, waiting = 0, job.seeds
    while waiting:
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder, "notes")
            notes.touch()
            ending = _run_process(job._replace(seeds=waiting), notes)
            lines = [json.loads(line) for line in notes.read_text().splitlines()]
        steps = [line for line in lines if "finding" not in line]
        found += [Finding(*line["finding"]) for line in lines if "finding" in line]
        count += sum(each["step"] > 0 for each in steps)
        if not ending:
            break
        last = steps[-1] if steps else {"seed": waiting[0], "step": 0, "edit": "start"}
        found.append(Finding(last["seed"], last["step"], last["edit"], ending))
        waiting = waiting[waiting.index(last["seed"]) + 1 :]
    return found, count


def _run_process(job: Job, notes: Path) -> str:
    """Return how a process has gone down; nothing if it has not."""
    code = (
        "import json, sys, pathlib; from tests.blender.edits import random_run as r;"
        f" r.work(r.Job(*json.loads({json.dumps(json.dumps(job))})), pathlib.Path({str(notes)!r}))"
    )
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
    }
    seconds, pipes = SECONDS * len(job.seeds), {"stdout": subprocess.DEVNULL}
    pipes["stderr"], bpy = subprocess.PIPE, sys.modules.get("bpy")
    command = [sys.executable, "-c", code]
    if bpy is not None and bpy.app.binary_path:
        application = [bpy.app.binary_path, "--background", "--factory-startup"]
        command = [*application, "--python-expr", code]
    try:
        done = subprocess.run(command, cwd=ROOT, env=variables, timeout=seconds, **pipes)
    except subprocess.TimeoutExpired:
        return f"hung for {seconds} s"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"Blender went down with signal {-done.returncode}"
    told = done.stderr.decode(errors="replace").splitlines()
    return f"ended with code {done.returncode}: " + "\n".join(told[-12:])


def jobs(first: int, steps: int, kinds: Sequence[str]) -> Iterator[Job]:
    """Yield jobs without end, each of as many files as one process edits."""
    if steps <= LENGTH:
        yield Job((first,), steps, (), tuple(kinds))
        return
    for start in itertools.count(first, FILES):
        yield Job(tuple(range(start, start + FILES)), LENGTH, (), tuple(kinds))


def shrink(job: Job) -> tuple[Job, Finding | None]:
    """Leave out all steps of a file without which something still goes wrong."""
    found, _ = run(job)
    if not found:
        return job, None
    kept = [number for number in job.only or range(1, found[0].step + 1)]
    size = max(1, len(kept) // 2)
    while size:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            again, _ = run(job._replace(only=tuple(fewer) or (0,)))
            if again:
                kept, found = [each for each in fewer if each <= again[0].step], again
            else:
                start += size
        size //= 2
    return job._replace(only=tuple(kept)), found[0]


def said_again(job: Job, finding: Finding) -> str:
    """Return the one command that shows a finding again."""
    words = [f"--seed {finding.seed}", f"--steps {max(1, finding.step)}"]
    if job.only:
        words.append("--only-steps " + ",".join(map(str, job.only)))
    words += [f"--kinds {','.join(job.kinds)}"] * bool(job.kinds)
    return "python3 scripts/edit_at_random.py " + " ".join(words)


def main(words: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first file")
    parser.add_argument("--steps", type=int, default=LENGTH, help="how many in all")
    parser.add_argument("--only-steps", default="", help="numbers of the steps of the one file")
    parser.add_argument("--kinds", default="", help="parts of the names of edits, with commas")
    parser.add_argument("--shrink", action="store_true", help="find the fewest steps of one file")
    asked = parser.parse_args(list(words) if words is not None else None)
    kinds = tuple(filter(None, asked.kinds.split(",")))
    only = tuple(map(int, filter(None, asked.only_steps.split(","))))
    if asked.shrink:
        job, finding = shrink(Job((asked.seed,), asked.steps, only, kinds))
        print(finding or "nothing was found", said_again(job, finding) if finding else "", sep="\n")
        return int(finding is not None)
    begun, count, found = time.monotonic(), 0, 0
    for job in jobs(asked.seed, asked.steps, kinds):
        findings, done = run(job._replace(only=only))
        count, found = count + done, found + len(findings)
        for finding in findings:
            print(finding, f"    {said_again(job, finding)}", sep="\n", flush=True)
        if count >= asked.steps:
            break
    seconds = time.monotonic() - begun
    print(f"{found} findings in {count} steps, {count / seconds:.0f} steps a second")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
