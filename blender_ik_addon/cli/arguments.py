"""What can be asked for on the command line."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from .frames import frames_of

STDOUT = "-"
EXIT_CODES = (
    "exit codes: 0 all chains reached their targets, 1 error, 2 wrong usage,"
    " 3 something was not reached"
)
INDEPENDENT, DEPENDENT = "independent", "dependent"
"""Armatures whose frames can be solved in any order, and those with chains that go on from frame to
frame or hang on such ones."""


def parser(prog: str, *, takes_file: bool) -> argparse.ArgumentParser:
    """Return what reads the arguments.

    Args:
        prog: How the program is called.
        takes_file: Whether the file to open comes first.
    """
    whole = argparse.ArgumentParser(
        prog, description="Solve, bake and report chains.", epilog=EXIT_CODES, allow_abbrev=False
    )
    if takes_file:
        whole.add_argument("file", type=Path, help="the .blend file to open")
        whole.add_argument(
            *("-y", "--enable-autoexec"), action="store_true", help="run the scripts of the file"
        )
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, verb: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=text, description=text, epilog=EXIT_CODES, allow_abbrev=False
        )
        added.set_defaults(verb=verb)
        return added

    solve = add("solve", "Solved", "Go to a frame, solve, and save the pose.")
    _add_choice(solve, "the scene's present one")
    _add_output(solve, is_required=False)
    _add_report(solve, None)

    bake = add("bake", "Baked", "Key what chains do at every frame, and save.")
    _add_choice(bake, "the scene's range")
    _add_output(bake, is_required=True)
    _add_bake(bake)
    _add_method(bake)
    _add_jobs(bake)

    plant = add("plant", "Planted", "Keep feet and hands where they stand in a clip, and save.")
    _add_choice(plant, "the scene's range")
    _add_output(plant, is_required=True)
    _add_plant(plant)

    report = add("report", "Reported", "Solve, and tell what became of each chain at each frame.")
    _add_choice(report, "the scene's range")
    _add_report(report, STDOUT)
    _add_jobs(report)

    _add_chunk(add("chunk", "Solved", "Solve some of the frames of a bake into a file, for merge."))

    merge = add("merge", "Merged", "Key what chunks have solved, and save.")
    merge.add_argument("chunks", type=Path, nargs="+", metavar="CHUNK", help="files of chunk")
    _add_frames(merge, "the scene's range")
    _add_output(merge, is_required=True)
    _add_bake(merge)
    _add_method(merge)
    return whole


def _add_choice(command: argparse.ArgumentParser, default: str) -> None:
    """Add what chooses frames and chains."""
    _add_frames(command, default)
    command.add_argument(
        "--armature",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only armature objects of such names, as in 'Crowd*'; can be given again",
    )
    command.add_argument(
        "--chains",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only chains of such names, as in 'Arm*'; can be given again",
    )


def _add_frames(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument(
        "--frames",
        type=frames_of,
        metavar="LIST",
        help=f"such as 1-250 or 10,20,30-40; by default {default}",
    )
    command.add_argument(
        "--from",
        type=int,
        dest="first",
        metavar="FRAME",
        help="where chains that go on from frame to frame start; by default the first of --frames",
    )


def _add_output(command: argparse.ArgumentParser, *, is_required: bool) -> None:
    group = command.add_mutually_exclusive_group(required=is_required)
    group.add_argument("--output", type=Path, metavar="FILE", help="the .blend file to write")
    group.add_argument("--overwrite", action="store_true", help="write to the file that is open")


def _add_bake(command: argparse.ArgumentParser) -> None:
    _add_report(command, None)
    command.add_argument(
        "--keep-live", action="store_true", help="do not mute the chains afterwards"
    )
    command.add_argument(
        "--step",
        type=_positive,
        default=1,
        metavar="N",
        help="key every so many of the frames, and the last one of each range",
    )
    command.add_argument(
        "--tolerance",
        type=_distance,
        default=0.0,
        metavar="X",
        help="leave out keys as long as no bone turns by more than X radians from what was baked,"
        " or moves or grows by more than X of its length; by default none is left out",
    )


def _add_method(command: argparse.ArgumentParser) -> None:
    _add_clip(
        command, "see all frames together: joints do not jump where targets do not ask for it"
    )
    command.add_argument(
        "--smoothness",
        type=_share,
        default=0.5,
        metavar="X",
        help="of a clip, from 0, which changes frames around jumps only, to 1; by default 0.5",
    )


def _add_clip(command: argparse.ArgumentParser, clip: str) -> None:
    command.add_argument(
        "--method",
        choices=("frames", "clip"),
        default="frames",
        help=f"frames: key each as it plays, the default; clip: {clip}",
    )


def _add_plant(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--relative-to",
        metavar="NAME",
        help="what feet stand on where that moves, as a raft: an object; by default the world",
    )
    command.add_argument(
        "--keep-hips",
        action="store_true",
        help="do not lower the hips where a leg would have to straighten more than in the clip",
    )


def _add_report(command: argparse.ArgumentParser, default: str | None) -> None:
    told = f"by default {default}" if default else "by default none"
    command.add_argument(
        "--report",
        default=default,
        metavar="FILE",
        help=f"where to write what became of each chain, as JSON; - for stdout; {told}",
    )
    command.add_argument(
        "--accept-unreached",
        action="store_true",
        help="end with 0 also where something was not reached, for what takes 3 for a failure",
    )


def _add_jobs(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--jobs",
        type=_positive,
        default=1,
        metavar="N",
        help="solve the frames in so many processes; the result is the same",
    )


def _add_chunk(command: argparse.ArgumentParser) -> None:
    _add_choice(command, "the scene's range")
    command.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="the .npz file to write"
    )
    command.add_argument(
        "--only",
        choices=(INDEPENDENT, DEPENDENT),
        help="only armatures whose frames can be solved in any order, or only all others: those"
        " have to be solved whole",
    )
    _add_clip(command, "note what merge needs to see all frames together")
    # For processes that this program starts.
    command.add_argument("--report-only", action="store_true", help=argparse.SUPPRESS)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _share(text: str) -> float:
    number = float(text)
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError("a number from 0 to 1")
    return number


def _distance(text: str) -> float:
    number = float(text)
    if not 0.0 <= number < math.inf:
        raise argparse.ArgumentTypeError("a number from 0 on")
    return number
