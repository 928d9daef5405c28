"""Files of what chains did at some frames: written by chunk, joined by merge."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ..rig.clips.notes import Notes
from ..rig.keying.written import Channel
from ..rig.reading.rows import joined
from .errors import CommandError
from .frames import in_words
from .parts import ChainResults, Result, RigResults
from .saving import replaced

FORMAT = 2

# Of a part, what is not in the header.
ARRAYS = ("values", "notes")


Origin = dict[str, str]
"""What values are made of: digest of the file, version of Blender, name of the scene."""


@dataclasses.dataclass(frozen=True)
class Chunk:
    """What a file holds.

    Attributes:
        rigs: Full names of all armature objects that were asked for.
        has_values: Whether it holds more than a report.
        parts: What those did that were played.
    """

    rigs: tuple[str, ...]
    has_values: bool
    parts: tuple[RigResults, ...]


def origin(scene: bpy.types.Scene) -> Origin:
    """Return what values are made of now: the file as it stands on the disk."""
    with open(bpy.data.filepath, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": digest, "blender": bpy.app.version_string, "scene": scene.name}


def write(path: Path, made_of: Origin, chunk: Chunk) -> None:
    """Write a file."""
    header = {
        "format": FORMAT,
        "origin": made_of,
        "rigs": chunk.rigs,
        "has_values": chunk.has_values,
        "parts": [_text_part(part) for part in chunk.parts],
    }
    arrays: dict[str, Any] = {f"values_{i}": part.values for i, part in enumerate(chunk.parts)}
    for i, part in enumerate(chunk.parts):
        if part.notes is not None:
            noted = vars(part.notes).items()
            arrays |= {f"{name}_{i}": values for name, values in noted}
    with replaced(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, header=np.array(json.dumps(header, allow_nan=False)), **arrays)


def _text_part(part: RigResults) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(part) if field.name not in ARRAYS]
    found = {name: getattr(part, name) for name in names}
    return {**found, "chains": [dataclasses.asdict(chain) for chain in part.chains]}


def read(path: Path, made_of: Origin) -> Chunk:
    """Return what a file holds.

    Raises:
        CommandError: If it is no such file, or was made of something else.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            header = json.loads(str(arrays["header"]))
            if header["format"] != FORMAT:
                raise CommandError(f"{path} has another format: make it again with this version.")
            found = {name: header["origin"][name] for name in made_of}
            parts = [_part(each, arrays, i) for i, each in enumerate(header["parts"])]
            chunk = Chunk(tuple(header["rigs"]), header["has_values"], tuple(parts))
    except FileNotFoundError as error:
        raise CommandError(f"{path} does not exist: make it with chunk.") from error
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise CommandError(f"{path} is no whole file of chunk: make it again.") from error
    if found["file"] != made_of["file"]:
        raise CommandError(f"{path} was made of another file, or of this one before a change.")
    if found != made_of:
        raise CommandError(
            f"{path} was made of scene '{found['scene']}' with Blender {found['blender']}, and this"
            f" is scene '{made_of['scene']}' with {made_of['blender']}: make it again."
        )
    return chunk


def _part(header: dict[str, Any], arrays: Mapping[str, Any], number: int) -> RigResults:
    values, notes = arrays[f"values_{number}"], None
    if f"matrices_{number}" in arrays:
        notes = Notes(*(arrays[f"{field.name}_{number}"] for field in dataclasses.fields(Notes)))
    chains = [
        ChainResults(**each | {"results": tuple(Result(**one) for one in each["results"])})
        for each in header["chains"]
    ]
    channels, frames = (Channel(*each) for each in header["channels"]), header["frames"]
    lists = {"frames": tuple(frames), "chains": tuple(chains), "channels": tuple(channels)}
    part = RigResults(**header | lists, values=values, notes=notes)
    if values.shape != (len(frames) if part.channels else 0, len(part.channels)):
        raise ValueError("not as many values as frames and channels")
    return part


def join(files: Mapping[str, Chunk], frames: Sequence[int], first: int) -> list[RigResults]:
    """Return what several files hold as if one process had played all frames.

    Args:
        files: By name.
        frames: All frames that are wanted.
        first: Where chains start that go on from frame to frame.

    Returns:
        What chains did, an item an armature object, in the scene's order.

    Raises:
        CommandError: If frames are missing, or in two files, or if files are of other chains.
    """
    (name, model), *others = files.items()
    for other, chunk in others:
        if (chunk.rigs, chunk.has_values) != (model.rigs, model.has_values):
            raise _of_others(name, other)
    by_armature: dict[str, list[tuple[str, RigResults]]] = {rig: [] for rig in model.rigs}
    for name, chunk in files.items():
        for part in chunk.parts:
            by_armature[part.armature].append((name, part))
    for rig, found in by_armature.items():
        if not found:
            raise CommandError(
                f"'{rig}' is in none of the files: run chunk for it first (see --only)."
            )
    return [_joined(found, frames, first) for found in by_armature.values()]


def _of_others(one: str, other: str) -> CommandError:
    return CommandError(
        f"{one} and {other} hold different chains: make both with the same --armature and --chains."
    )


def _joined(
    files: Sequence[tuple[str, RigResults]], frames: Sequence[int], first: int
) -> RigResults:
    """Return the parts of one armature object as one."""
    at: dict[int, tuple[str, RigResults, int]] = {}
    _, model = files[0]
    for name, part in files:
        if _asked(part) != _asked(model):
            raise _of_others(files[0][0], name)
        if part.goes_on and part.first != first:
            raise CommandError(
                f"Chains of '{part.armature}' go on from frame to frame, and {name} begins at"
                f" frame {part.first} instead of {first}: make it with --from {first}."
            )
        for row, frame in enumerate(part.frames):
            if frame in at:
                raise CommandError(
                    f"Frame {frame} of '{part.armature}' is in {at[frame][0]} and in {name}:"
                    " leave one of them out."
                )
            at[frame] = (name, part, row)
    missing = [frame for frame in frames if frame not in at]
    if missing:
        verb, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise CommandError(
            f"{in_words(missing)} of '{model.armature}' {verb} in no file: run chunk for {them}"
            " first."
        )
    picked = [at[frame][1:] for frame in frames]
    chains = [
        dataclasses.replace(
            chain, results=tuple(part.chains[i].results[row] for part, row in picked)
        )
        for i, chain in enumerate(model.chains)
    ]
    values = [part.values[row] for part, row in picked] if model.channels else []
    noted = [part.notes.take(np.array([row])) for part, row in picked if part.notes is not None]
    return dataclasses.replace(
        model,
        first=first,
        frames=tuple(frames),
        chains=tuple(chains),
        values=np.array(values).reshape(len(values), len(model.channels)),
        notes=joined(noted) if noted else None,
    )


def _asked(part: RigResults) -> object:
    chains = [(chain.index, chain.name, chain.bones) for chain in part.chains]
    return chains, part.channels, part.goes_on, part.notes is None
