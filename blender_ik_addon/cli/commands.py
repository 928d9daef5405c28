"""What each command does with the file that is open."""

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

from ..properties.records import plantable
from ..rig.clips.planted_clip import Planting
from ..rig.clips.planting import free_root, plant
from ..rig.keying.baking import key, mute_for_good, stepped
from ..rig.keying.keys import check_keyable
from ..rig.keying.playing import check_live, frame_kept, moments
from . import chunks, jobs, report, saving
from .arguments import DEPENDENT, INDEPENDENT, STDOUT
from .choosing import Chosen, choose
from .clips import bettered
from .errors import CommandError, UsageError, warn
from .frames import in_words, split, text_of
from .parts import RigResults, check_moved, is_reached, play, tell

NOT_REACHED = 3


def solve(options: argparse.Namespace, stdout: TextIO) -> int:
    """Go to frames, and save the pose of one."""
    scene = _scene()
    frames = options.frames or (scene.frame_current,)
    if len(frames) > 1 and (options.output or options.overwrite):
        raise UsageError("A file holds the pose of one frame: solve one, or bake them all.")
    _check_output(options)
    first = _first(options, frames)
    chosen = choose(scene, options.armature, options.chains)
    parts = play(scene, chosen, frames, first, with_values=False)
    _save(options)
    return _report(options, parts, stdout, _saved_to(options))


def bake(options: argparse.Namespace, stdout: TextIO) -> int:
    """Key what chains do, and save."""
    scene = _scene()
    _check_output(options)
    runs = _runs(options, scene)
    chosen, frames = choose(scene, options.armature, options.chains), tuple(chain(*runs))
    _check_keyable([each.object for each in chosen])
    parts = _solved(options, scene, chosen, frames, with_values=True)
    return _keyed(options, scene, runs, parts, stdout)


def plant_feet(options: argparse.Namespace, _stdout: TextIO) -> int:
    """Keep feet and hands where they stand, and save."""
    scene = _scene()
    _check_output(options)
    frames = _frames(options, scene)
    whole = range(frames[0], frames[-1] + 1)
    if len(whole) > len(frames):
        raise UsageError("Feet are planted in frames without gaps: name one range.")
    platform = None if options.relative_to is None else scene.objects.get(options.relative_to)
    if options.relative_to is not None and platform is None:
        raise CommandError(f"There is no object '{options.relative_to}' in the scene.")
    planted = []
    for each in choose(scene, options.armature, options.chains, with_muted=True):
        chains, problems = plantable(each.object, [*each.chains], scene)
        for problem in problems:
            warn(each.object.name_full, problem)
        body = each.object.chain_ik.body
        root, gives_way = free_root(each.object, body.root), not options.keep_hips
        planting = Planting(whole, body.floor, platform, root, gives_way)
        work = plant(scene, each.object, chains, planting)
        try:
            for number in itertools.count(1):
                next(work)
                tell(number, len(whole))
        except StopIteration as end:
            for sentence in end.value.sentences():
                warn(each.object.name_full, sentence)
            planted.append(f"{each.object.name} {sum(end.value.counts().values())}")
    _save(options)
    print(f"Contacts planted: {', '.join(planted)}.", file=sys.stderr, flush=True)
    return 0


def tell_report(options: argparse.Namespace, stdout: TextIO) -> int:
    """Solve, and tell what became of each chain."""
    scene = _scene()
    _check_output(options)
    frames, chosen = _frames(options, scene), choose(scene, options.armature, options.chains)
    parts = _solved(options, scene, chosen, frames, with_values=False)
    place = None if options.report == STDOUT else options.report
    return _report(options, parts, stdout, place)


def chunk(options: argparse.Namespace, _stdout: TextIO) -> int:
    """Write what chains do at some frames to a file."""
    scene = _scene()
    saving.make_folder(options.output)
    _check_output(options)
    made_of = chunks.origin(scene)
    frames, chosen = _frames(options, scene), choose(scene, options.armature, options.chains)
    first, with_values = _first(options, frames), not options.report_only
    kind = {True: DEPENDENT, False: INDEPENDENT}
    played = [each for each in chosen if options.only in (None, kind[each.goes_on])]
    with frame_kept(scene):
        parts = play(
            scene,
            played,
            frames,
            first,
            with_values=with_values,
            with_notes=with_values and _is_clip(options),
        )
    rigs = tuple(each.object.name_full for each in chosen)
    chunks.write(options.output, made_of, chunks.Chunk(rigs, with_values, tuple(parts)))
    _tell_done(options, parts, frames, options.output)
    return 0


def merge(options: argparse.Namespace, stdout: TextIO) -> int:
    """Key what chunks hold, and save."""
    scene = _scene()
    _check_output(options)
    runs = _runs(options, scene)
    frames, made_of = tuple(chain(*runs)), chunks.origin(scene)
    files = {str(path): chunks.read(path, made_of) for path in options.chunks}
    for name, file in files.items():
        if not file.has_values:
            raise CommandError(f"{name} holds a report and no values: make it for a bake.")
        if _is_clip(options) and any(part.notes is None for part in file.parts):
            raise CommandError(f"{name} holds no notes for a clip: make it with --method clip.")
    parts = chunks.join(files, frames, _first(options, frames))
    return _keyed(options, scene, runs, parts, stdout)


COMMANDS: dict[str, Callable[[argparse.Namespace, TextIO], int]] = {
    "solve": solve,
    "bake": bake,
    "plant": plant_feet,
    "report": tell_report,
    "chunk": chunk,
    "merge": merge,
}


def _scene() -> bpy.types.Scene:
    """Return the scene to play."""
    scene = bpy.context.scene
    if not bpy.data.filepath or scene is None:
        raise UsageError("No file is open: name a .blend file before the command.")
    check_live(scene)
    return scene


def _frames(options: argparse.Namespace, scene: bpy.types.Scene) -> Sequence[int]:
    frames: Sequence[int] = options.frames or range(scene.frame_start, scene.frame_end + 1)
    return tuple(frames)


def _is_clip(options: argparse.Namespace) -> bool:
    """Tell whether a command betters all frames together, or plays them for that."""
    return getattr(options, "method", "frames") == "clip"


def _runs(options: argparse.Namespace, scene: bpy.types.Scene) -> list[list[int]]:
    """Return the frames to play, by runs without gaps: of a clip all of them, else the keyed."""
    return stepped(_frames(options, scene), 1 if _is_clip(options) else options.step)


def _first(options: argparse.Namespace, frames: Sequence[int]) -> int:
    """Return where chains start that go on from frame to frame."""
    first: int | None = options.first
    if first is None:
        return frames[0]
    if first > frames[0]:
        raise UsageError(f"--from {first} lies after frame {frames[0]}: start there or before.")
    return first


def _check_output(options: argparse.Namespace) -> None:
    """Raise if what is asked for could not be written, or would overwrite the wrong file."""
    source = Path(bpy.data.filepath)
    output: Path | None = getattr(options, "output", None)
    written = [output] if output is not None else []
    if output is not None and saving.are_same(output, source):
        raise UsageError(f"{output} is the file that is open: say --overwrite to write to it.")
    if getattr(options, "overwrite", False):
        saving.check_place(source)
    if options.report not in (None, STDOUT):
        written.append(Path(options.report))
        if any(saving.are_same(written[-1], other) for other in (source, *written[:-1])):
            raise UsageError(f"{options.report} is a .blend file: write the report elsewhere.")
    for path in written:
        saving.check_place(path)


def _solved(
    options: argparse.Namespace,
    scene: bpy.types.Scene,
    chosen: Sequence[Chosen],
    frames: Sequence[int],
    *,
    with_values: bool,
) -> list[RigResults]:
    """Play the frames here, or in several processes; the same comes out."""
    first = _first(options, frames)
    if options.jobs == 1:
        with frame_kept(scene):
            notes = with_values and _is_clip(options)
            return play(scene, chosen, frames, first, with_values=with_values, with_notes=notes)
    with tempfile.TemporaryDirectory(prefix="chain_ik_") as folder:
        tasks = _tasks(options, chosen, frames, first, with_values=with_values)
        paths = [Path(folder, f"{i}.npz") for i in range(len(tasks))]
        start = jobs.start()
        todo = [
            jobs.Task([*start, *arguments, f"--output={path}"], in_words(part), count)
            for (arguments, part, count), path in zip(tasks, paths, strict=True)
        ]
        jobs.run(todo, options.jobs, tell)
        made_of = chunks.origin(scene)
        files = {str(path): chunks.read(path, made_of) for path in paths}
        return chunks.join(files, frames, first)


def _tasks(
    options: argparse.Namespace,
    chosen: Sequence[Chosen],
    frames: Sequence[int],
    first: int,
    *,
    with_values: bool,
) -> list[tuple[list[str], Sequence[int], int]]:
    """Return what processes are to do: arguments, frames, and how many frames that plays."""
    patterns = [f"--armature={each}" for each in options.armature]
    patterns += [f"--chains={each}" for each in options.chains]
    common = ["chunk", *patterns, *([] if with_values else ["--report-only"])]
    common += [f"--method={options.method}"] if with_values else []
    found: list[tuple[list[str], Sequence[int], int]] = []

    def add(part: Sequence[int], only: str, start: int) -> None:
        arguments = [f"--frames={text_of(part)}", f"--from={start}", f"--only={only}"]
        count = len(moments(part, start, goes_on=only == DEPENDENT))
        found.append(([*common, *arguments], part, count))

    has_whole = any(each.goes_on for each in chosen)
    if has_whole:
        # The longest one, so it begins first.
        add(frames, DEPENDENT, first)
    if not all(each.goes_on for each in chosen):
        for part in split(frames, max(1, options.jobs - has_whole)):
            add(part, INDEPENDENT, part[0])
    return found


def _keyed(
    options: argparse.Namespace,
    scene: bpy.types.Scene,
    runs: Sequence[Sequence[int]],
    parts: Sequence[RigResults],
    stdout: TextIO,
) -> int:
    """Key what chains do, mute them, save and report."""
    check_moved(parts)
    known = {each.name_full: each for each in scene.objects}
    rigs = [known[part.armature] for part in parts]
    _check_keyable(rigs)
    keyed_runs = runs
    if _is_clip(options):
        pairs = zip(rigs, parts, strict=True)
        parts = [bettered(scene, rig, part, runs, options.smoothness) for rig, part in pairs]
        keyed_runs = stepped(parts[0].frames, options.step)
    for rig, part in zip(rigs, parts, strict=True):
        values = part.values[np.isin(part.frames, np.concatenate(keyed_runs))]
        key(rig, keyed_runs, part.channels, values, options.tolerance)
        if not options.keep_live:
            for chain in part.chains:
                mute_for_good(rig, chain.index)
    # The keys play.
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    _save(options)
    return _report(options, parts, stdout, _saved_to(options))


def _check_keyable(rigs: Sequence[bpy.types.Object]) -> None:
    """Raise if keys could not be written, or would play on another of the rigs.

    Raises:
        CommandError: With what to do next.
        RigError: The same.
    """
    users: dict[object, str] = {}
    for rig in rigs:
        check_keyable(rig)
        data = rig.animation_data
        if data is None or data.action is None:
            continue
        slot = getattr(data, "action_slot", None)
        if slot is None and hasattr(data, "action_slot"):
            # It gets one of its own.
            continue
        action = (data.action.name_full, None if slot is None else slot.identifier)
        if action in users:
            raise CommandError(
                f"'{users[action]}' and '{rig.name}' share the action '{data.action.name}':"
                " give each its own."
            )
        users[action] = rig.name


def _saved_to(options: argparse.Namespace) -> Path | None:
    """Return the .blend file that is written, if one is."""
    output: Path | None = options.output
    return Path(bpy.data.filepath) if options.overwrite else output


def _save(options: argparse.Namespace) -> None:
    path = _saved_to(options)
    if path is not None:
        saving.save(path)


def _tell_done(
    options: argparse.Namespace, parts: Sequence[RigResults], frames: Sequence[int], place: object
) -> None:
    done = report.done_in_words(options.verb, parts, frames, place)
    print(done, file=sys.stderr, flush=True)


def _report(
    options: argparse.Namespace, parts: Sequence[RigResults], stdout: TextIO, place: object
) -> int:
    """Write the report if it is wanted, and tell what is done; return the exit code."""
    text = report.text_of(parts)
    if options.report == STDOUT:
        stdout.write(text)
        stdout.flush()
    elif options.report is not None:
        with saving.replaced(Path(options.report)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    _tell_done(options, parts, parts[0].frames, place)
    return 0 if options.accept_unreached or is_reached(parts) else NOT_REACHED
