"""Keyed switches between spaces: what a control shows changes neither at a switch nor before."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..controls.control_spaces import (
    ACTING,
    active_space,
    add_space,
    constraints_of,
    effect_of,
    objects_and_bones,
    place,
    remove_space,
    total_effect,
    unconstrained,
)
from ..keying.curve_points import remove_points, set_interpolation
from ..keying.keyed_frames import keys_moving
from ..keying.keys import Channel, check_keyable, curves_of, remove_animation
from ..keying.played_keys import PlayedFrames
from ..keying.playing import MAX_FRAME, check_shown, preserve_frame
from ..keying.unplayed_keys import check_curves, check_undriven, check_unstretched
from ..reading.anchors import space_of
from ..reading.dependencies import Dependencies
from ..reading.spec import Anchor
from .fk_ik import anchor_channels, key_anchors, key_as_played

PlacedFrame = tuple[Array, Array]
"""The matrix that a control is to show at a frame, and that of its spaces, shape (4, 4) each."""


def key_space(
    control: Anchor,
    space: Anchor | None,
    frames: Sequence[int],
    scene: bpy.types.Scene,
    interpolation: str,
) -> bool:
    """Move a control with a space, or the world, from a frame on, with keys there and one before.

    Its later keys are then relative to the new space. If another switch follows, the control stays
    in place at its keys before that switch. Over more than one frame the control is keyed at each,
    so that it stays where it plays now, and the former space acts again after the last one.
    The frames are whole, in rising order and without gaps. The scene is not restored. The
    interpolation is that from the last frame on, as Blender names it.

    Returns:
        Whether anything has changed: not if the control moves with the space already.

    Raises:
        RigError: If keys could not be written, or nothing can move with the space.
    """
    check_unstretched(scene)
    first, last = frames[0], frames[-1]
    if control.bone and len(frames) > 1:
        check_shown(scene, control.object, frames)
    _check_keys(control)
    constraint = None if space is None else add_space(control, space)
    steps, until = _steps(control, "" if constraint is None else constraint.name, first, last)
    if not steps:
        return False
    new = frames if len(frames) > 1 else range(first, MAX_FRAME + 1)
    beside = PlayedFrames(anchor_channels([control]), [new], scene, keep_loops=False)
    for _ in beside.read():
        pass
    points = [point.co.x for curve in _curves(control) for point in curve.keyframe_points]
    later = [] if until is None else sorted({frame for frame in points if last < frame < until})
    shown: dict[float, PlacedFrame] = {}
    for frame in (*frames, *later):
        if len(frames) > 1 or frame != first:
            scene.frame_set(math.floor(frame), subframe=frame % 1.0)
        effect = np.eye(4) if constraint is None else effect_of(control, constraint)
        shown[frame] = total_effect(control) @ unconstrained(control), effect
    # All frames have been read: from here on the control plays differently.
    beside.write()
    key_as_played([control], first - 1, interpolation)
    if len(frames) > 1:
        key_as_played([control], last + 1, interpolation)
    _remove_keys(control, frames)
    _key_influences(control, steps)
    kinds = ["LINEAR"] * (len(frames) - 1) + [interpolation]
    _key_shown(control, {frame: shown[frame] for frame in frames}, kinds)
    _key_shown(control, {frame: shown[frame] for frame in later})
    for curve in _curves(control):
        # Otherwise motion blur in the frame before would show a way from one space to the other.
        set_interpolation(curve, dict.fromkeys((first - 1, (until or first) - 1), "CONSTANT"))
    return True


def _check_keys(control: Anchor) -> None:
    """Raise a ``RigError`` if keys of a control or of its spaces could not be written."""
    paths = (constraint.path_from_id("influence") for constraint in constraints_of(control))
    influences = [Channel("", path) for path in paths]
    keyed = {control.object: anchor_channels([control])[control.object] + influences}
    check_curves(keyed)
    check_undriven(keyed)
    check_keyable(control.object)


def find_frames_to_key(deleted: Collection[Anchor], scene: bpy.types.Scene) -> dict[Anchor, range]:
    """Return controls that move with anchors to be deleted, and the frames to key them at.

    These are all frames from the first to the last key of whatever moves a control; none without
    keys, or if the space neither acts now nor has a keyed influence.

    Raises:
        RigError: If keys could not be written.
    """
    frames_of = {}
    for control in objects_and_bones():
        spaces = [] if control in deleted else constraints_of(control)
        lost = [space for space in spaces if space_of(space) in deleted]
        if lost:
            keyed = _influences(control)
            is_acting = any(space == active_space(control) or space.name in keyed for space in lost)
            moving = keys_moving(Dependencies.of(control), bpy.data.objects) if is_acting else ()
            ends = (math.floor(min(moving)), math.ceil(max(moving)) + 1) if moving else (0,)
            frames_of[control] = range(*ends)
        if frames_of.get(control):
            check_unstretched(scene)
            check_keyable(control.object)
            check_curves(anchor_channels([control]))
    return frames_of


def has_followers(deleted: Collection[Anchor], scene: bpy.types.Scene) -> bool:
    """Return whether any control moves now with anchors that are to be deleted.

    Raises:
        RigError: As for ``find_frames_to_key``.
    """
    active_spaces = [active_space(control) for control in find_frames_to_key(deleted, scene)]
    return any(space is not None and space_of(space) in deleted for space in active_spaces)


def remove_spaces_of(deleted: Collection[Anchor], scene: bpy.types.Scene) -> None:
    """Remove all spaces of anchors that are to be deleted; their controls stay where they play.

    Raises:
        RigError: If keys could not be written; then nothing is changed.
    """
    frames_of = find_frames_to_key(deleted, scene)
    frames = sorted({frame for control_frames in frames_of.values() for frame in control_frames})
    if not frames:
        for control in frames_of:
            _remove_spaces(control, deleted)
        return
    shown: dict[Anchor, dict[float, PlacedFrame]] = {control: {} for control in frames_of}
    active: dict[Anchor, list[str]] = {control: [] for control in frames_of}
    with preserve_frame(scene):
        for frame in frames:
            scene.frame_set(frame)
            for control in [owner for owner, times in frames_of.items() if frame in times]:
                matrix = total_effect(control) @ unconstrained(control)
                shown[control][frame] = matrix, total_effect(control, deleted)
                now = active_space(control)
                active[control].append("" if now is None or space_of(now) in deleted else now.name)
        for control, times in frames_of.items():
            _remove_spaces(control, deleted)
            if times:
                _remove_keys(control, times)
                pairs = pairwise([*active[control], active[control][-1]])
                # Between two spaces there must be no visible way: hold the key.
                kinds = ["LINEAR" if name == after else "CONSTANT" for name, after in pairs]
                _key_shown(control, shown[control], kinds)


def _remove_spaces(control: Anchor, deleted: Collection[Anchor]) -> None:
    """Remove the spaces of deleted anchors from a control, with their keys."""
    for constraint in constraints_of(control):
        if space_of(constraint) in deleted:
            remove_animation(control.object, [constraint.path_from_id()])
            remove_space(control, constraint)


def _key_shown(
    control: Anchor, shown: Mapping[float, PlacedFrame], interpolations: Iterable[str] = ()
) -> None:
    """Key a control at frames so that it shows its matrices; skip those that cannot be placed.

    Without interpolations the keys have those of the preceding keys.
    """
    for frame, (matrix, effect) in shown.items():
        can_place = np.isfinite((matrix, effect)).all() and np.linalg.matrix_rank(effect) == 4
        if can_place:
            place(control, matrix, effect)
            key_anchors([control], frame)
    # Setting each at once would search all keys for each frame.
    kinds = dict(zip(shown, interpolations, strict=False))
    for curve in _curves(control):
        set_interpolation(curve, kinds)


def _curves(control: Anchor) -> list[bpy.types.FCurve]:
    """Return the F-curves of a control's location and rotation."""
    return list(curves_of(control.object, anchor_channels([control])[control.object]).values())


def _remove_keys(control: Anchor, frames: Sequence[int]) -> None:
    """Remove the keys of a control in a range of frames: they are relative to the former space."""
    for curve in _curves(control):
        remove_points(curve, frames[0], frames[-1])
        curve.update()


def _steps(
    control: Anchor, new: str, first: int, last: int
) -> tuple[dict[float, str], float | None]:
    """Return which space is to act from which frame on, and the frame of the next switch or None.

    The names of spaces are by frame, in rising order, empty for none; no frames if ``new`` acts
    already. It is to act from the first frame to the next switch, over more than one frame to the
    last of them.
    """
    constraints, known = constraints_of(control), _influences(control)
    present = {constraint.name: constraint.influence for constraint in constraints}

    def acting_at(frame: float) -> str:
        for name, value in present.items():
            if (known[name].evaluate(frame) if name in known else value) >= ACTING:
                return name
        return ""

    keyed = {point.co.x for curve in known.values() for point in curve.keyframe_points}
    ends = {first - 1.0, float(first)} | ({last + 1.0} if last > first else set())
    former = {frame: acting_at(frame) for frame in sorted(keyed | ends)}
    until: float | None = last + 1.0
    if last == first:
        changes = (at for at, name in former.items() if at > last and name != former[first])
        until = next(changes, None)
    within = [at for at in former if at >= first and (until is None or at < until)]
    steps = former | dict.fromkeys(within, new)
    return ({} if steps == former else steps), until


def _influences(control: Anchor) -> dict[str, bpy.types.FCurve]:
    """Return the F-curves of the influences of a control's spaces, by name."""
    spaces = constraints_of(control)
    channels = {Channel("", space.path_from_id("influence")): space.name for space in spaces}
    known = curves_of(control.object, channels)
    return {channels[channel]: curve for channel, curve in known.items()}


def _key_influences(control: Anchor, steps: Mapping[float, str]) -> None:
    """Key which space acts from which frame on."""
    known = _influences(control)
    for constraint in constraints_of(control):
        if constraint.name not in known and constraint.name not in steps.values():
            continue
        for frame, name in steps.items():
            constraint.influence = float(constraint.name == name)
            constraint.keyframe_insert("influence", frame=frame)
    for curve in _influences(control).values():
        set_interpolation(curve, dict.fromkeys(steps, "CONSTANT"))
