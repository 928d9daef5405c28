"""Spaces switched with keys: what a control shows changes neither then nor before."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..controls.control_spaces import (
    ACTING,
    acting,
    add_space,
    carried,
    carrying_of,
    constraints_of,
    objects_and_bones,
    place,
    remove_space,
    unconstrained,
)
from ..keying.curve_points import interpolate
from ..keying.holding import hold_play
from ..keying.keys import check_keyable, remove_animation
from ..keying.playing import frame_kept
from ..reading.anchors import space_of
from ..reading.animation import curves, keyed_frames
from ..reading.dependencies import Dependencies
from ..reading.spec import Anchor
from ..reading.world import channels_of
from .fk_ik import anchor_channels, channel_names, hold_anchors, key_anchors

Shown = tuple[Array, Array]
"""Where a control is to be seen, and how its spaces will take it there, shape (4, 4) each."""


def key_space(
    control: Anchor,
    space: Anchor | None,
    frames: Sequence[int],
    scene: bpy.types.Scene,
    interpolation: str,
) -> None:
    """Have a control go along with something from a frame on, with keys at it and the one before.

    Over several frames the control is keyed at each, so that it stays where it plays now. Its keys
    after them count in the new space; where another switch follows, it stays where it was at those
    up to there.

    Args:
        control: The object or bone.
        space: What it goes along with; None for the world.
        frames: Whole frames in rising order, without a gap; the scene stays where it was played.
        scene: What plays them.
        interpolation: From the last frame on, as Blender names it.

    Raises:
        RigError: If keys could not be written, or nothing can go along with the space.
    """
    check_keyable(control.object)
    first, last = frames[0], frames[-1]
    hold_play(anchor_channels([control]), first - 1, scene)
    chosen = None if space is None else add_space(control, space)
    steps, until = _steps(control, "" if chosen is None else chosen.name, first, last)
    points = [point.co.x for curve in _curves(control) for point in curve.keyframe_points]
    later = [] if until is None else sorted({each for each in points if last < each < until})
    shown: dict[float, Shown] = {}
    for frame in (*frames, *later):
        if len(frames) > 1 or frame != first:
            scene.frame_set(math.floor(frame), subframe=frame % 1.0)
        # What it shows, and how the new space will take it there.
        carrying = np.eye(4) if chosen is None else carrying_of(control, chosen)
        shown[frame] = carried(control) @ unconstrained(control), carrying
    hold_anchors([control], first - 1, interpolation)
    _remove_between(control, frames)
    _key_influences(control, steps)
    kinds = ["LINEAR"] * (len(frames) - 1) + [interpolation] + [""] * len(later)
    _key_shown(control, shown, kinds)
    for curve in _curves(control):
        # In the frame before, motion blur would else see a way from one space into the other.
        for switch in (first, until or first):
            interpolate(curve, switch - 1, "CONSTANT")


def leaving(gone: Collection[Anchor]) -> dict[Anchor, range]:
    """Return what goes along with something that is to be deleted, and the frames to key it at.

    These are all between the first and the last key of what moves it, none where there are none.

    Args:
        gone: Objects and bones.

    Raises:
        RigError: If keys could not be written.
    """
    found = {}
    for control in objects_and_bones():
        known = [] if control in gone else constraints_of(control)
        lost = [each for each in known if space_of(each) in gone]
        if lost:
            keyed = _influences(control)
            acts = any(each == acting(control) or each.name in keyed for each in lost)
            found[control] = _moving_frames(control) if acts else range(0)
        if found.get(control):
            check_keyable(control.object)
    return found


def carries(gone: Collection[Anchor]) -> bool:
    """Tell whether something goes along now with what is to be deleted.

    Raises:
        RigError: As ``leaving``.
    """
    acts = [acting(control) for control in leaving(gone)]
    return any(each is not None and space_of(each) in gone for each in acts)


def leave(gone: Collection[Anchor], scene: bpy.types.Scene) -> None:
    """Take all spaces away that go along with something; what has them stays where it plays.

    Args:
        gone: Objects and bones that are to be deleted.
        scene: What plays them.

    Raises:
        RigError: If keys could not be written; nothing is changed then.
    """
    found = leaving(gone)
    frames = sorted({frame for each in found.values() for frame in each})
    if not frames:
        for control in found:
            _remove_spaces(control, gone)
        return
    shown: dict[Anchor, dict[float, Shown]] = {control: {} for control in found}
    left: dict[Anchor, list[str]] = {control: [] for control in found}
    with frame_kept(scene):
        for frame in frames:
            scene.frame_set(frame)
            for control in [each for each, own in found.items() if frame in own]:
                wanted = carried(control) @ unconstrained(control)
                shown[control][frame] = wanted, carried(control, gone)
                now = acting(control)
                left[control].append("" if now is None or space_of(now) in gone else now.name)
        for control, own in found.items():
            _remove_spaces(control, gone)
            if own:
                _remove_between(control, own)
                ways = pairwise([*left[control], left[control][-1]])
                # From one space into another, nothing is to be seen of the way.
                kinds = ["LINEAR" if now == next_ else "CONSTANT" for now, next_ in ways]
                _key_shown(control, shown[control], kinds)


def _remove_spaces(control: Anchor, gone: Collection[Anchor]) -> None:
    """Take the spaces away from a control that go along with something, and their keys."""
    for constraint in constraints_of(control):
        if space_of(constraint) in gone:
            remove_animation(control.object, [constraint.path_from_id()])
            remove_space(control, constraint)


def _moving_frames(control: Anchor) -> range:
    """Return all frames from the first to the last key of whatever moves a control."""
    moved_by, keyed = Dependencies(), set()
    moved_by.add_anchor(control)
    for owner in bpy.data.objects:
        if owner.session_uid in moved_by.owners:
            bones = {name for uid, name in moved_by.points if uid == owner.session_uid}
            keyed |= keyed_frames(owner, bones)
    return range(math.floor(min(keyed)), math.ceil(max(keyed)) + 1) if keyed else range(0)


def _key_shown(
    control: Anchor, shown: Mapping[float, Shown], interpolations: Iterable[str]
) -> None:
    """Key a control at frames so that it shows there what it is to show, where anything can."""
    for (frame, (wanted, carrying)), kind in zip(shown.items(), interpolations, strict=True):
        is_sound = np.isfinite((wanted, carrying)).all() and np.linalg.matrix_rank(carrying) == 4
        if is_sound:
            place(control, wanted, carrying)
            key_anchors([control], frame, kind)


def _curves(control: Anchor) -> list[bpy.types.FCurve]:
    """Return the F-curves of its location and rotation."""
    moved = channels_of(control)
    paths = {moved.path_from_id(name) for name in channel_names(moved)}
    return [curve for curve in curves(control.object) if curve.data_path in paths]


def _remove_between(control: Anchor, frames: Sequence[int]) -> None:
    """Remove keys between whole frames: they count in the former space."""
    for curve in _curves(control):
        for point in reversed(curve.keyframe_points):
            if frames[0] <= point.co.x <= frames[-1]:
                curve.keyframe_points.remove(point, fast=True)
        curve.update()


def _steps(
    control: Anchor, new: str, first: int, last: int
) -> tuple[dict[float, str], float | None]:
    """Return which space is to act from which frame on, and where the next switch is.

    Args:
        control: The object or bone.
        new: Name of the space that acts from the first frame up to that switch; empty for none.
        first: The first frame.
        last: The frame from which on another switch ends it.

    Returns:
        Names by frame, in rising order, and the frame of the next switch, None without.
    """
    constraints, known = constraints_of(control), _influences(control)
    present = {each.name: each.influence for each in constraints}

    def acting_at(at: float) -> str:
        for name, value in present.items():
            if (known[name].evaluate(at) if name in known else value) >= ACTING:
                return name
        return ""

    keyed = {point.co.x for curve in known.values() for point in curve.keyframe_points}
    former = acting_at(last)
    steps = {at: acting_at(at) for at in sorted({*keyed, first - 1.0, float(first)})}
    until = next((at for at, name in steps.items() if at > last and name != former), None)
    for at in steps:
        if at >= first and (until is None or at < until):
            steps[at] = new
    return steps, until


def _influences(control: Anchor) -> dict[str, bpy.types.FCurve]:
    """Return the F-curves of the influences of its spaces, by name; those without have none."""
    known = {curve.data_path: curve for curve in curves(control.object)}
    paths = {each.name: each.path_from_id("influence") for each in constraints_of(control)}
    return {name: known[path] for name, path in paths.items() if path in known}


def _key_influences(control: Anchor, steps: Mapping[float, str]) -> None:
    """Key which space acts from which frame on."""
    known = _influences(control)
    for constraint in constraints_of(control):
        if constraint.name not in known and constraint.name not in steps.values():
            continue
        for at, name in steps.items():
            constraint.influence = float(constraint.name == name)
            constraint.keyframe_insert("influence", frame=at)
    for curve in _influences(control).values():
        for at in steps:
            interpolate(curve, at, "CONSTANT")
