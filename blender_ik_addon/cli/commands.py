"""The commands, which work on the file that is open."""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TextIO

import bpy
import numpy as np

from ..properties.records import chain_spec, plantable
from ..rig.clips.planted_clip import PlantingOptions
from ..rig.clips.planting import free_root, plant
from ..rig.keying.baking import find_still_chains, key, mute_permanently, select_frames
from ..rig.keying.keys import check_keyable
from ..rig.keying.played_keys import key_played_frames
from ..rig.keying.playing import check_live, frames_to_evaluate, preserve_frame
from ..rig.keying.unplayed_keys import STRETCHED_TIME, is_time_stretched
from . import chunks, jobs, report, saving
from .arguments import DEFAULT_SMOOTHNESS, DEPENDENT, INDEPENDENT, STDOUT
from .chain_choice import ChosenChains, choose
from .clips import improve_clip
from .errors import CommandError, UsageError, warn
from .frames import frame_list, in_words, split
from .rig_results import RigResults, check_moved, is_reached, play, print_progress

NOT_REACHED_CODE = 3


def run_command(options: argparse.Namespace, stdout: TextIO) -> int:
    """Run the command of the arguments on the open file; return the exit code."""
    scene = bpy.context.scene
    if not bpy.data.filepath or scene is None:
        raise UsageError("No file is open: give a .blend file before the command.")
    check_live(scene)
    if options.command == "chunk":
        saving.make_folder(options.output)
    if getattr(options, "smoothness", None) is not None and options.method != "clip":
        raise UsageError("--smoothness smooths clips only: use it with --method clip.")
    _check_output(options)
    if options.overwrite:
        options.output = Path(bpy.data.filepath)
    return _COMMANDS[options.command](options, scene, stdout)


def _solve(options: argparse.Namespace, scene: bpy.types.Scene, stdout: TextIO) -> int:
    """Go to frames, and save the pose of one."""
    frames = options.frames or (scene.frame_current,)
    if len(frames) > 1 and options.output:
        raise UsageError("A file holds the pose of one frame: solve one, or use bake for more.")
    first = _start_frame(options, frames)
    chosen = choose(scene, options.armature, options.chains)
    parts = play(scene, chosen, frames, first, with_values=False)
    _save(options)
    return _write_report(options, parts, stdout, options.output)


def _bake(options: argparse.Namespace, scene: bpy.types.Scene, stdout: TextIO) -> int:
    """Key the results of chains, and save."""
    runs = _frame_runs(options, scene)
    chosen, frames = choose(scene, options.armature, options.chains), tuple(chain(*runs))
    _check_keyable([rig.object for rig in chosen])
    parts = _play_frames(options, scene, chosen, frames, with_values=True)
    return _key_and_save(options, scene, runs, parts, stdout)


def _plant(options: argparse.Namespace, scene: bpy.types.Scene, _stdout: TextIO) -> int:
    """Keep feet and hands where they stand, and save."""
    frames = _frames(options, scene)
    whole = range(frames[0], frames[-1] + 1)
    if len(whole) > len(frames):
        raise UsageError("Planting needs frames without gaps: give one range.")
    platform = None if options.relative_to is None else scene.objects.get(options.relative_to)
    if options.relative_to is not None and platform is None:
        raise CommandError(
            f"There is no object '{options.relative_to}' in the scene: correct the name."
        )
    planted = []
    for rig in choose(scene, options.armature, options.chains, with_muted=True):
        chains, problems = plantable(rig.object, [*rig.chains], scene)
        for problem in problems:
            warn(rig.object.name_full, problem)
        body = rig.object.chain_ik.body
        root, gives_way = free_root(rig.object, body.root), not options.keep_hips
        planting = PlantingOptions(whole, body.floor, platform, root, gives_way)
        work = plant(scene, rig.object, chains, planting)
        try:
            for number in itertools.count(1):
                next(work)
                print_progress(number, len(whole))
        except StopIteration as end:
            for sentence in end.value.sentences():
                warn(rig.object.name_full, sentence)
            planted.append(f"{rig.object.name} {sum(end.value.counts().values())}")
    _save(options)
    print(f"Contacts planted: {', '.join(planted)}.", file=sys.stderr, flush=True)
    return 0


def _report(options: argparse.Namespace, scene: bpy.types.Scene, stdout: TextIO) -> int:
    """Solve the frames, and report the result of each chain."""
    frames, chosen = _frames(options, scene), choose(scene, options.armature, options.chains)
    parts = _play_frames(options, scene, chosen, frames, with_values=False)
    place = None if options.report == STDOUT else options.report
    return _write_report(options, parts, stdout, place)


def _chunk(options: argparse.Namespace, scene: bpy.types.Scene, _stdout: TextIO) -> int:
    """Solve some frames into a file for ``merge``."""
    origin = chunks.find_origin(scene)
    frames, chosen = _frames(options, scene), choose(scene, options.armature, options.chains)
    first, with_values = _start_frame(options, frames), not options.report_only
    kind = {True: DEPENDENT, False: INDEPENDENT}
    played = [rig for rig in chosen if options.only in (None, kind[rig.goes_on])]
    with preserve_frame(scene):
        notes = with_values and options.method == "clip"
        parts = play(scene, played, frames, first, with_values=with_values, with_notes=notes)
    rigs = tuple(rig.object.name_full for rig in chosen)
    chunks.write(options.output, origin, chunks.Chunk(rigs, with_values, tuple(parts)))
    report.print_summary(options.verb, parts, frames, options.output)
    return 0


def _merge(options: argparse.Namespace, scene: bpy.types.Scene, stdout: TextIO) -> int:
    """Key the results of chunks, and save."""
    runs = _frame_runs(options, scene)
    frames, origin = tuple(chain(*runs)), chunks.find_origin(scene)
    files = {str(path): chunks.read(path, origin) for path in options.chunks}
    for name, file in files.items():
        if not file.has_values:
            raise CommandError(f"{name} holds a report without poses: make it again for a bake.")
        if options.method == "clip" and any(part.notes is None for part in file.parts):
            raise CommandError(
                f"{name} holds no data for a clip: make it again with --method clip."
            )
    parts = chunks.join(files, frames, _start_frame(options, frames))
    return _key_and_save(options, scene, runs, parts, stdout)


_COMMANDS: dict[str, Callable[[argparse.Namespace, bpy.types.Scene, TextIO], int]] = {
    "solve": _solve,
    "bake": _bake,
    "plant": _plant,
    "report": _report,
    "chunk": _chunk,
    "merge": _merge,
}


def _frames(options: argparse.Namespace, scene: bpy.types.Scene) -> Sequence[int]:
    return tuple(options.frames or range(scene.frame_start, scene.frame_end + 1))


def _frame_runs(options: argparse.Namespace, scene: bpy.types.Scene) -> list[list[int]]:
    """Return the frames to play, in runs without gaps: all for a clip, otherwise the keyed ones."""
    return select_frames(_frames(options, scene), 1 if options.method == "clip" else options.step)


def _start_frame(options: argparse.Namespace, frames: Sequence[int]) -> int:
    """Return the start frame of chains that continue from frame to frame."""
    first: int | None = options.first
    if first is None:
        return frames[0]
    if first > frames[0]:
        raise UsageError(f"--from {first} is after frame {frames[0]}: start there or before.")
    return first


def _check_output(options: argparse.Namespace) -> None:
    """Raise a ``CommandError`` if an output cannot be written, or overwrites the wrong file."""
    source = Path(bpy.data.filepath)
    output: Path | None = options.output
    written = [output] if output is not None else []
    if output is not None and saving.is_same_file(output, source):
        if options.command == "chunk":
            raise UsageError(
                f"{output} is the open file, and chunk has no --overwrite: choose another file."
            )
        raise UsageError(f"{output} is the open file: use --overwrite to write to it.")
    if options.overwrite:
        saving.check_writable(source)
    if options.report not in (None, STDOUT):
        written.append(Path(options.report))
        if any(saving.is_same_file(written[-1], other) for other in (source, *written[:-1])):
            raise UsageError(
                f"{options.report} is the open file or the output: choose another for the report."
            )
    for path in written:
        if any(saving.is_same_file(path, other) for other in _files_to_read(options)):
            raise UsageError(
                f"{path} is a library of the open file or a chunk to merge: choose another file."
            )
        saving.check_writable(path)


def _files_to_read(options: argparse.Namespace) -> list[Path]:
    """Return the files that a command reads besides the open file."""
    libraries = [Path(bpy.path.abspath(library.filepath)) for library in bpy.data.libraries]
    return [*libraries, *getattr(options, "chunks", ())]


def _play_frames(
    options: argparse.Namespace,
    scene: bpy.types.Scene,
    chosen: Sequence[ChosenChains],
    frames: Sequence[int],
    *,
    with_values: bool,
) -> list[RigResults]:
    """Play the frames here, or in several processes; the results are the same."""
    first = _start_frame(options, frames)
    if options.jobs == 1:
        with preserve_frame(scene):
            notes = with_values and options.method == "clip"
            return play(scene, chosen, frames, first, with_values=with_values, with_notes=notes)
    with tempfile.TemporaryDirectory(prefix="chain_ik_") as folder:
        tasks = _tasks(options, chosen, frames, first, with_values=with_values)
        paths = [Path(folder, f"{i}.npz") for i in range(len(tasks))]
        start = jobs.start_command()
        process_jobs = [
            jobs.Job([*start, *arguments, f"--output={path}"], in_words(part), count)
            for (arguments, part, count), path in zip(tasks, paths, strict=True)
        ]
        jobs.run(process_jobs, options.jobs, print_progress)
        origin = chunks.find_origin(scene)
        files = {str(path): chunks.read(path, origin) for path in paths}
        return chunks.join(files, frames, first)


def _tasks(
    options: argparse.Namespace,
    chosen: Sequence[ChosenChains],
    frames: Sequence[int],
    first: int,
    *,
    with_values: bool,
) -> list[tuple[list[str], Sequence[int], int]]:
    """Return the tasks of the processes: arguments, frames, and the number of played frames."""
    patterns = [f"--armature={pattern}" for pattern in options.armature]
    patterns += [f"--chains={pattern}" for pattern in options.chains]
    common = ["chunk", *patterns, *([] if with_values else ["--report-only"])]
    common += [f"--method={options.method}"] if with_values else []
    tasks: list[tuple[list[str], Sequence[int], int]] = []

    def add(part: Sequence[int], only: str, start: int) -> None:
        arguments = [f"--frames={frame_list(part)}", f"--from={start}", f"--only={only}"]
        count = len(frames_to_evaluate(part, start, goes_on=only == DEPENDENT))
        tasks.append(([*common, *arguments], part, count))

    has_dependent = any(rig.goes_on for rig in chosen)
    if has_dependent:
        # This task takes longest, so it begins first.
        add(frames, DEPENDENT, first)
    if not all(rig.goes_on for rig in chosen):
        for part in split(frames, max(1, options.jobs - has_dependent)):
            add(part, INDEPENDENT, part[0])
    return tasks


def _key_and_save(
    options: argparse.Namespace,
    scene: bpy.types.Scene,
    runs: Sequence[Sequence[int]],
    parts: Sequence[RigResults],
    stdout: TextIO,
) -> int:
    """Key the results of chains, mute these, save and report."""
    check_moved(parts)
    if is_time_stretched(scene):
        warn(None, STRETCHED_TIME)
    objects = {rig.name_full: rig for rig in scene.objects}
    rigs = [objects[part.armature] for part in parts]
    _check_keyable(rigs)
    keyed_runs = runs
    if options.method == "clip":
        pairs = zip(rigs, parts, strict=True)
        smoothness = DEFAULT_SMOOTHNESS if options.smoothness is None else options.smoothness
        parts = [improve_clip(scene, rig, part, runs, smoothness) for rig, part in pairs]
        keyed_runs = select_frames(parts[0].frames, options.step)
    for rig, part in zip(rigs, parts, strict=True):
        values = part.values[np.isin(part.frames, np.concatenate(keyed_runs))]
        key_played_frames({rig: part.channels}, runs, scene)
        key(rig, keyed_runs, part.channels, values, options.tolerance)
        if not options.keep_live:
            specs = {one.index: chain_spec(rig.chain_ik.chains[one.index]) for one in part.chains}
            if still := find_still_chains(scene, rig, specs, range(runs[0][0], runs[-1][-1] + 1)):
                warn(rig.name_full, still)
            for index in specs:
                mute_permanently(rig, index)
    # Show the pose of the new keys.
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    _save(options)
    return _write_report(options, parts, stdout, options.output)


def _check_keyable(rigs: Sequence[bpy.types.Object]) -> None:
    """Raise a ``CommandError`` if two rigs share an action, a ``RigError`` if one takes no keys."""
    users: dict[object, str] = {}
    for rig in rigs:
        check_keyable(rig)
        data = rig.animation_data
        if data is None or data.action is None:
            continue
        slot = getattr(data, "action_slot", None)
        if slot is None and hasattr(data, "action_slot"):
            # Keying adds a slot for this rig alone.
            continue
        action = (data.action.name_full, None if slot is None else slot.identifier)
        if action in users:
            raise CommandError(
                f"'{users[action]}' and '{rig.name}' share the action '{data.action.name}':"
                " give each armature its own."
            )
        users[action] = rig.name


def _save(options: argparse.Namespace) -> None:
    if options.output is not None:
        saving.save(options.output)


def _write_report(
    options: argparse.Namespace, parts: Sequence[RigResults], stdout: TextIO, place: object
) -> int:
    """Write the report if requested, and print a summary; return the exit code."""
    text = report.to_json(parts)
    if options.report == STDOUT:
        stdout.write(text)
        stdout.flush()
    elif options.report is not None:
        with saving.replacing(Path(options.report)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    report.print_summary(options.verb, parts, parts[0].frames, place)
    return 0 if options.accept_unreached or is_reached(parts) else NOT_REACHED_CODE
