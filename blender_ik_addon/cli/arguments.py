"""The arguments of the command line: a table of options, and a table of commands."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..rig.keying.playing import MAX_FRAME
from .frames import frames_of

STDOUT = "-"
DEFAULT_SMOOTHNESS = 0.5
EXIT_CODES = (
    "exit codes: 0 all chains reached their targets, 1 error, 2 wrong usage,"
    " 3 a target was not reached"
)
INDEPENDENT, DEPENDENT = "independent", "dependent"
"""Armatures whose frames can be solved in any order, and those with chains that continue from
frame to frame or depend on such chains."""


def _number(
    kind: Callable[[str], float], least: float, most: float, words: str
) -> Callable[[str], float]:
    """Return a function that reads a number of a range, or says in words which one to give."""

    def read(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not {words}")
        return number

    return read


_POSITIVE = _number(int, 1, math.inf, "a whole number of 1 or more")
_FRAME = _number(int, -MAX_FRAME, MAX_FRAME, f"a frame from {-MAX_FRAME} to {MAX_FRAME}")
_SHARE = _number(float, 0.0, 1.0, "a number from 0 to 1")
_DISTANCE = _number(float, 0.0, sys.float_info.max, "a number of 0 or more")


_PATTERNS: dict[str, Any] = {"action": "append", "default": [], "metavar": "PATTERN"}
_FLAG: dict[str, Any] = {"action": "store_true"}
_FILE: dict[str, Any] = {"type": Path, "metavar": "FILE"}
_NUMBER: dict[str, Any] = {"type": _POSITIVE, "default": 1, "metavar": "N"}
_OPTIONS: dict[str, dict[str, Any]] = {
    "chunks": {"type": Path, "nargs": "+", "metavar": "CHUNK", "help": "files from chunk"},
    "--frames": {
        "type": frames_of,
        "metavar": "LIST",
        "help": "frames, for example 1-250 or 10,20,30-40; default: {frames}",
    },
    "--from": {
        "type": _FRAME,
        "dest": "first",
        "metavar": "FRAME",
        "help": "start frame of chains that continue from frame to frame; default: the first of"
        " --frames",
    },
    "--armature": _PATTERNS
    | {"help": "only armature objects with matching names, for example 'Crowd*'; can be repeated"},
    "--chains": _PATTERNS
    | {"help": "only chains with matching names, for example 'Arm*'; can be repeated"},
    "--output": _FILE | {"help": "the .blend file to write"},
    "--overwrite": _FLAG | {"help": "write to the open file"},
    "--output of chunk": _FILE | {"required": True, "help": "the .npz file to write"},
    "--only": {
        "choices": (INDEPENDENT, DEPENDENT),
        "help": "independent: only armatures whose frames can be solved in any order; dependent:"
        " only the others, which one process must solve from the first frame on",
    },
    "--report": {
        "metavar": "FILE",
        "help": "JSON file for the result of each chain; - for stdout; default: {report}",
    },
    "--accept-unreached": _FLAG
    | {"help": "exit with 0 even if a target was not reached, for farms that take 3 for a failure"},
    "--keep-live": _FLAG | {"help": "do not mute the chains afterwards"},
    "--step": _NUMBER | {"help": "key every N frames, and the last frame of each range"},
    "--tolerance": {
        "type": _DISTANCE,
        "default": 0.0,
        "metavar": "X",
        "help": "leave out keys if no bone then turns by more than X radians, or moves or grows by"
        " more than X of its length; default: keep all keys",
    },
    "--method": {
        "choices": ("frames", "clip"),
        "default": "frames",
        "help": "frames (default): key each frame as it plays; clip: {clip}",
    },
    "--smoothness": {
        "type": _SHARE,
        "metavar": "X",
        "help": "smoothness of a clip, from 0 to 1; 0 changes only frames around jumps;"
        " default: 0.5",
    },
    "--jobs": _NUMBER | {"help": "solve the frames in N processes; the result is the same"},
    "--relative-to": {
        "metavar": "NAME",
        "help": "moving object that carries the feet, for example a raft; default: the world",
    },
    "--keep-hips": _FLAG
    | {"help": "keep the hips even if a leg must then straighten more than in the clip"},
    # For processes that this program starts.
    "--report-only": _FLAG | {"help": argparse.SUPPRESS},
}
"""Arguments of ``add_argument``, by option; texts in braces differ between commands."""
_DEFAULT_WORDS = {
    "frames": "the scene's range",
    "report": "none",
    "clip": "improve all frames together; joints jump only where targets require it",
}
"""Texts for these braces, unless a command has others."""
_FRAMES, _DESTINATION = ("--frames", "--from"), ("--output", "--overwrite")
_CHOICE = (*_FRAMES, "--armature", "--chains")
_REPORT = ("--report", "--accept-unreached")
_BAKE = (*_REPORT, "--keep-live", "--step", "--tolerance", "--method", "--smoothness")
_CHUNK = ("--output of chunk", "--only", "--method", "--report-only")


def parser(prog: str, *, takes_file: bool) -> argparse.ArgumentParser:
    """Return the parser of a program's arguments, of which the first can be the file to open."""
    root = argparse.ArgumentParser(
        prog, description="Solve, bake and report chains.", epilog=EXIT_CODES, allow_abbrev=False
    )
    if takes_file:
        root.add_argument("file", type=Path, help="the .blend file to open")
        root.add_argument(
            *("-y", "--enable-autoexec"), action="store_true", help="run the scripts of the file"
        )
    # For commands without these options.
    root.set_defaults(output=None, overwrite=False, method="frames")
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
        frames="the scene's current frame",
    )
    add(
        *("bake", "Baked", "Key the result of chains at every frame, and save."),
        *(*_CHOICE, *_DESTINATION, *_BAKE, "--jobs"),
    )
    add(
        *("plant", "Planted", "Stop feet and hands from sliding in a clip, and save."),
        *(*_CHOICE, *_DESTINATION, "--relative-to", "--keep-hips"),
    )
    add(
        *("report", "Reported", "Solve, and report the result of each chain at each frame."),
        *(*_CHOICE, *_REPORT, "--jobs"),
        report=STDOUT,
    )
    add(
        *("chunk", "Solved", "Solve some frames of a bake, and write a file for merge."),
        *(*_CHOICE, *_CHUNK),
        clip="also write the data that merge needs to improve all frames together",
    )
    add(
        *("merge", "Merged", "Key the poses from files of chunk, and save."),
        *("chunks", *_FRAMES, *_DESTINATION, *_BAKE),
    )
    return root
