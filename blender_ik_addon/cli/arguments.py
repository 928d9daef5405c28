"""The arguments of the command line: a table of options, and a table of commands."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from .frames import frames_of

STDOUT = "-"
EXIT_CODES = (
    "exit codes: 0 all chains reached their targets, 1 error, 2 wrong usage,"
    " 3 something was not reached"
)
INDEPENDENT, DEPENDENT = "independent", "dependent"
"""Armatures whose frames can be solved in any order, and those with chains that continue from
frame to frame or depend on such chains."""


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


_PATTERNS: dict[str, Any] = {"action": "append", "default": [], "metavar": "PATTERN"}
_FLAG: dict[str, Any] = {"action": "store_true"}
_FILE: dict[str, Any] = {"type": Path, "metavar": "FILE"}
_NUMBER: dict[str, Any] = {"type": _positive, "default": 1, "metavar": "N"}
_OPTIONS: dict[str, dict[str, Any]] = {
    "chunks": {"type": Path, "nargs": "+", "metavar": "CHUNK", "help": "files of chunk"},
    "--frames": {
        "type": frames_of,
        "metavar": "LIST",
        "help": "such as 1-250 or 10,20,30-40; by default {frames}",
    },
    "--from": {
        "type": int,
        "dest": "first",
        "metavar": "FRAME",
        "help": "where chains that go on from frame to frame start; by default the first of"
        " --frames",
    },
    "--armature": _PATTERNS
    | {"help": "only armature objects of such names, as in 'Crowd*'; can be given again"},
    "--chains": _PATTERNS | {"help": "only chains of such names, as in 'Arm*'; can be given again"},
    "--output": _FILE | {"help": "the .blend file to write"},
    "--overwrite": _FLAG | {"help": "write to the file that is open"},
    "--output of chunk": _FILE | {"required": True, "help": "the .npz file to write"},
    "--only": {
        "choices": (INDEPENDENT, DEPENDENT),
        "help": "only armatures whose frames can be solved in any order, or only all others: those"
        " have to be solved whole",
    },
    "--report": {
        "metavar": "FILE",
        "help": "where to write what became of each chain, as JSON; - for stdout; by default"
        " {report}",
    },
    "--accept-unreached": _FLAG
    | {"help": "end with 0 also where something was not reached, for what takes 3 for a failure"},
    "--keep-live": _FLAG | {"help": "do not mute the chains afterwards"},
    "--step": _NUMBER | {"help": "key every so many of the frames, and the last one of each range"},
    "--tolerance": {
        "type": _distance,
        "default": 0.0,
        "metavar": "X",
        "help": "leave out keys as long as no bone turns by more than X radians from what was"
        " baked, or moves or grows by more than X of its length; by default none is left out",
    },
    "--method": {
        "choices": ("frames", "clip"),
        "default": "frames",
        "help": "frames: key each as it plays, the default; clip: {clip}",
    },
    "--smoothness": {
        "type": _share,
        "default": 0.5,
        "metavar": "X",
        "help": "of a clip, from 0, which changes frames around jumps only, to 1; by default 0.5",
    },
    "--jobs": _NUMBER | {"help": "solve the frames in so many processes; the result is the same"},
    "--relative-to": {
        "metavar": "NAME",
        "help": "what feet stand on where that moves, as a raft: an object; by default the world",
    },
    "--keep-hips": _FLAG
    | {"help": "do not lower the hips where a leg would have to straighten more than in the clip"},
    # For processes that this program starts.
    "--report-only": _FLAG | {"help": argparse.SUPPRESS},
}
"""Arguments of ``add_argument``, by option; texts in braces differ between commands."""
_DEFAULT_WORDS = {
    "frames": "the scene's range",
    "report": "none",
    "clip": "see all frames together: joints do not jump where targets do not ask for it",
}
"""Texts for these braces, unless a command has others."""
_FRAMES, _DESTINATION = ("--frames", "--from"), ("--output", "--overwrite")
_CHOICE = (*_FRAMES, "--armature", "--chains")
_REPORT = ("--report", "--accept-unreached")
_BAKE = (*_REPORT, "--keep-live", "--step", "--tolerance", "--method", "--smoothness")
_CHUNK = ("--output of chunk", "--only", "--method", "--report-only")


def parser(prog: str, *, takes_file: bool) -> argparse.ArgumentParser:
    """Return the parser of the arguments.

    Args:
        prog: Name of the program in its messages.
        takes_file: Whether the first argument is the file to open.
    """
    root = argparse.ArgumentParser(
        prog, description="Solve, bake and report chains.", epilog=EXIT_CODES, allow_abbrev=False
    )
    if takes_file:
        root.add_argument("file", type=Path, help="the .blend file to open")
        root.add_argument(
            *("-y", "--enable-autoexec"), action="store_true", help="run the scripts of the file"
        )
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, verb: str, text: str, *options: str, **words: str) -> None:
        command = commands.add_parser(
            name, help=text, description=text, epilog=EXIT_CODES, allow_abbrev=False
        )
        for option in options:
            arguments = dict(_OPTIONS[option])
            arguments["help"] = arguments["help"].format(**_DEFAULT_WORDS | words)
            if option == _DESTINATION[0]:
                destinations = command.add_mutually_exclusive_group(required=name != "solve")
            (destinations if option in _DESTINATION else command).add_argument(
                option.split()[0], **arguments
            )
        command.set_defaults(verb=verb, report=STDOUT if name == "report" else None)

    add(
        *("solve", "Solved", "Go to a frame, solve, and save the pose."),
        *(*_CHOICE, *_DESTINATION, *_REPORT),
        frames="the scene's present one",
    )
    add(
        *("bake", "Baked", "Key what chains do at every frame, and save."),
        *(*_CHOICE, *_DESTINATION, *_BAKE, "--jobs"),
    )
    add(
        *("plant", "Planted", "Keep feet and hands where they stand in a clip, and save."),
        *(*_CHOICE, *_DESTINATION, "--relative-to", "--keep-hips"),
    )
    add(
        *("report", "Reported", "Solve, and tell what became of each chain at each frame."),
        *(*_CHOICE, *_REPORT, "--jobs"),
        report=STDOUT,
    )
    add(
        *("chunk", "Solved", "Solve some of the frames of a bake into a file, for merge."),
        *(*_CHOICE, *_CHUNK),
        clip="note what merge needs to see all frames together",
    )
    add(
        *("merge", "Merged", "Key what chunks have solved, and save."),
        *("chunks", *_FRAMES, *_DESTINATION, *_BAKE),
    )
    return root
