"""Files with the results of chains at some frames: written by chunk, joined by merge."""

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

from ..rig.clips.frame_records import Notes
from ..rig.keying.keys import Channel
from ..rig.reading.batch_record import joined
from .errors import CommandError
from .frames import in_words
from .rig_results import ChainResults, Result, RigResults
from .saving import replacing

FORMAT = 2

# Fields of a part that a file holds as arrays, and not in its header.
ARRAYS = ("values", "notes")


Origin = dict[str, str]
"""The origin of values: digest of the file, version of Blender, name of the scene."""


@dataclasses.dataclass(frozen=True)
class Chunk:
    """The content of a file.

    Attributes:
        rigs: Full names of all requested armature objects.
        has_values: Whether it holds more than a report.
        parts: Results of those armature objects that were played.
    """

    rigs: tuple[str, ...]
    has_values: bool
    parts: tuple[RigResults, ...]


def find_origin(scene: bpy.types.Scene) -> Origin:
    """Return the origin of values that are computed now; the digest is that of the saved file."""
    with open(bpy.data.filepath, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": digest, "blender": bpy.app.version_string, "scene": scene.name}


def write(path: Path, origin: Origin, chunk: Chunk) -> None:
    """Write a chunk to a file."""
    header = {
        "format": FORMAT,
        "origin": origin,
        "rigs": chunk.rigs,
        "has_values": chunk.has_values,
        "parts": [_header_of(part) for part in chunk.parts],
    }
    arrays: dict[str, Any] = {f"values_{i}": part.values for i, part in enumerate(chunk.parts)}
    for i, part in enumerate(chunk.parts):
        if part.notes is not None:
            fields = vars(part.notes).items()
            arrays |= {f"{name}_{i}": values for name, values in fields}
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, header=np.array(json.dumps(header, allow_nan=False)), **arrays)


def _header_of(part: RigResults) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(part) if field.name not in ARRAYS]
    header = {name: getattr(part, name) for name in names}
    return {**header, "chains": [dataclasses.asdict(chain) for chain in part.chains]}


def read(path: Path, origin: Origin) -> Chunk:
    """Return the chunk that a file holds.

    Raises:
        CommandError: If the file holds no chunk, or one of another origin.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            header = json.loads(str(arrays["header"]))
            if header["format"] != FORMAT:
                raise CommandError(
                    f"{path} has an unknown format: make it again with this version."
                )
            saved = {name: header["origin"][name] for name in origin}
            parts = [_read_part(part, arrays, i) for i, part in enumerate(header["parts"])]
            chunk = Chunk(tuple(header["rigs"]), header["has_values"], tuple(parts))
    except FileNotFoundError as error:
        raise CommandError(f"{path} does not exist: make it with the command chunk.") from error
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise CommandError(f"{path} is not a complete file of chunk: make it again.") from error
    if saved["file"] != origin["file"]:
        raise CommandError(
            f"{path} is from another file, or from another version of this one: make it again."
        )
    if saved != origin:
        raise CommandError(
            f"{path} is from scene '{saved['scene']}' and Blender {saved['blender']}, not from"
            f" scene '{origin['scene']}' and Blender {origin['blender']}: make it again."
        )
    return chunk


def _read_part(header: dict[str, Any], arrays: Mapping[str, Any], number: int) -> RigResults:
    values, notes = arrays[f"values_{number}"], None
    if f"matrices_{number}" in arrays:
        notes = Notes(*(arrays[f"{field.name}_{number}"] for field in dataclasses.fields(Notes)))
    chains = [
        ChainResults(**chain | {"results": tuple(Result(**result) for result in chain["results"])})
        for chain in header["chains"]
    ]
    channels, frames = (Channel(*channel) for channel in header["channels"]), header["frames"]
    lists = {"frames": tuple(frames), "chains": tuple(chains), "channels": tuple(channels)}
    part = RigResults(**header | lists, values=values, notes=notes)
    if values.shape != (len(frames) if part.channels else 0, len(part.channels)):
        raise ValueError("not as many values as frames and channels")
    return part


def join(files: Mapping[str, Chunk], frames: Sequence[int], first: int) -> list[RigResults]:
    """Return the results of files by armature, as if one process had played all frames.

    The chunks are by the names of their files; armatures are in the scene's order. Chains that
    continue from frame to frame start at the frame ``first``.

    Raises:
        CommandError: If frames are missing or in two files, or if the files hold different chains.
    """
    (name, model), *others = files.items()
    for other, chunk in others:
        if (chunk.rigs, chunk.has_values) != (model.rigs, model.has_values):
            raise _mismatch_error(name, other)
    by_armature: dict[str, list[tuple[str, RigResults]]] = {rig: [] for rig in model.rigs}
    for name, chunk in files.items():
        for part in chunk.parts:
            by_armature[part.armature].append((name, part))
    for rig, parts in by_armature.items():
        if not parts:
            raise CommandError(f"No file contains '{rig}': run chunk for it first (see --only).")
    return [_join_rig(parts, frames, first) for parts in by_armature.values()]


def _mismatch_error(one: str, other: str) -> CommandError:
    return CommandError(
        f"{one} and {other} hold different chains: make both with the same --armature and --chains."
    )


def _join_rig(
    files: Sequence[tuple[str, RigResults]], frames: Sequence[int], first: int
) -> RigResults:
    """Join the parts of one armature object."""
    part_of: dict[int, tuple[str, RigResults, int]] = {}
    _, model = files[0]
    for name, part in files:
        if _content_key(part) != _content_key(model):
            raise _mismatch_error(files[0][0], name)
        if part.goes_on and part.first != first:
            raise CommandError(
                f"Chains of '{part.armature}' continue from frame to frame, but {name} starts at"
                f" frame {part.first} instead of {first}: make it again with --from {first}."
            )
        for row, frame in enumerate(part.frames):
            if frame in part_of:
                raise CommandError(
                    f"Frame {frame} of '{part.armature}' is in {part_of[frame][0]} and in {name}:"
                    " leave one of them out."
                )
            part_of[frame] = (name, part, row)
    missing = [frame for frame in frames if frame not in part_of]
    if missing:
        verb, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise CommandError(
            f"{in_words(missing)} of '{model.armature}' {verb} missing from the files:"
            f" run chunk for {them} first."
        )
    rows = [part_of[frame][1:] for frame in frames]
    chains = [
        dataclasses.replace(chain, results=tuple(part.chains[i].results[row] for part, row in rows))
        for i, chain in enumerate(model.chains)
    ]
    values = [part.values[row] for part, row in rows] if model.channels else []
    notes = [part.notes.take(np.array([row])) for part, row in rows if part.notes is not None]
    return dataclasses.replace(
        model,
        first=first,
        frames=tuple(frames),
        chains=tuple(chains),
        values=np.array(values).reshape(len(values), len(model.channels)),
        notes=joined(notes) if notes else None,
    )


def _content_key(part: RigResults) -> object:
    chains = [(chain.index, chain.name, chain.bones) for chain in part.chains]
    return chains, part.channels, part.goes_on, part.notes is None
