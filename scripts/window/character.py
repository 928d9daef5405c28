"""Rigify's human in the tours: motions of its controls, its pose, and the contents of its file."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import radians
from typing import Any, NamedTuple

import bpy
import numpy as np
from mathutils import Matrix, Vector

from window.driver import REDRAW, Session, check, check_near, select_bones
from window.tour import MODULE, RIG, Tour

TORSO, CHEST = "spine", "Spine Target"
HANDS, FEET = ("Arm Target.L", "Arm Target.R"), ("Leg Target.L", "Leg Target.R")
ROLL = "Foot Roll"
# Tolerance of matrices of bones; the differences of a pop are a hundred times larger.
MATRIX_TOLERANCE = 1e-4


class Place(NamedTuple):
    """The offset of a control from its rest place.

    Attributes:
        offset: Offset in metres; the character looks along -Y.
        pitch: Degrees about X; if positive, a body leans forward and a foot points its toes down.
        roll: Degrees of the foot's custom property.
    """

    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    pitch: float = 0.0
    roll: float = 0.0


# Frame -> control -> place; controls without a place are at rest.
Motion = dict[int, dict[str, Place]]


def _hands(left: tuple[float, float, float], right: tuple[float, float, float]) -> dict[str, Place]:
    return {HANDS[0]: Place(left), HANDS[1]: Place(right)}


_AT_SIDES = _hands((-0.31, -0.12, -0.2), (0.31, -0.12, -0.2))
_DOWN = {TORSO: Place((0.0, 0.12, -0.45), 25.0), **_hands((-0.4, -0.5, -0.25), (0.4, -0.5, -0.25))}
_BACK = {TORSO: Place((0.06, -0.03, -0.04), 10.0), FEET[1]: Place((0.0, 0.35, 0.2), 50.0)}
_BACK |= _hands((-0.3, -0.4, -0.05), (0.36, -0.08, -0.15))
_UP = {TORSO: Place((0.06, 0.02, -0.03), -18.0), FEET[1]: Place((0.02, -0.72, 0.6), -35.0)}
_UP |= _hands((-0.2, 0.0, -0.15), (0.4, -0.15, -0.05))
CROUCH: Motion = {1: _AT_SIDES, 11: _DOWN, 21: _AT_SIDES}
KICK: Motion = {21: _AT_SIDES, 28: _BACK, 36: _UP, 46: _AT_SIDES}
# Frame -> torso, left foot, right foot: offsets along -Y and Z, then pitch and roll. Each foot is
# planted until the other one is: its heel comes down first, its toes leave last.
_STEPS = {
    46: ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0)),
    51: ((0.12, -0.04), (0.2, 0.1, 15.0), (0.0, 0.0)),
    56: ((0.25, -0.08), (0.45, 0.0, 0.0, -20.0), (0.0, 0.0, 0.0, 30.0)),
    61: ((0.45, -0.04), (0.45, 0.0), (0.45, 0.1, 15.0)),
    66: ((0.68, -0.08), (0.45, 0.0, 0.0, 30.0), (0.9, 0.0, 0.0, -20.0)),
    71: ((0.88, -0.04), (0.9, 0.0), (0.9, 0.0)),
}
WALK: Motion = {
    frame: {
        name: Place((0.0, -y, z), *turns)
        for name, (y, z, *turns) in zip((TORSO, *FEET), places, strict=True)
    }
    for frame, places in _STEPS.items()
}
# Toe bone -> frames on which it stays on the floor while the foot rolls.
PLANTED_FRAMES = {"toe.R": range(46, 57), "toe.L": range(61, 67)}


def rig() -> bpy.types.Object:
    """Return the character, by name since undo replaces all references."""
    return bpy.data.objects[RIG]


def pose(*names: str) -> np.ndarray:
    """Return evaluated matrices of bones, by default of all deforming ones, shape (n, 4, 4)."""
    bones = rig().evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    names = names or tuple(bone.name for bone in bones if bone.bone.use_deform)
    return np.array([bones[name].matrix for name in names])


def check_same(actual: np.ndarray, expected: np.ndarray, when: str) -> None:
    check_near(actual, expected, MATRIX_TOLERANCE, f"{when} the pose")


def check_reached(when: str) -> None:
    """Check the status of every chain that is not muted: it must have reached its target."""
    for chain in rig().chain_ik.chains:
        is_right = chain.mute or chain.influence == 0.0 or chain.status.startswith("Reached")
        check(is_right, f"{when}, {chain.name}: {chain.status}")


def play_through(frames: Iterable[int], *names: str) -> np.ndarray:
    """Return ``pose`` at frames in order, shape (f, n, 4, 4); check that all chains reach."""
    poses = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        check_reached(f"At frame {frame}")
        poses.append(pose(*names))
    return np.array(poses)


def move(name: str, place: Place) -> None:
    """Move a control to an offset from its rest place, in its space."""
    bone = rig().pose.bones[name]
    rest = bone.bone.matrix_local.to_3x3()
    turn = Matrix.Rotation(radians(place.pitch), 3, "X")
    bone.location = rest.inverted() @ Vector(place.offset)
    bone.rotation_quaternion = (rest.inverted() @ turn @ rest).to_quaternion()
    if ROLL in bone:
        bone[ROLL] = radians(place.roll)
    # Blender does not notice when a script changes a custom property.
    rig().update_tag()


def key_motion(tour: Tour, motion: Motion) -> Session:
    """Move the controls of a motion to their places at each of its frames, and press I."""
    names = sorted({name for places in motion.values() for name in places})
    yield from tour.rest_mouse()
    for frame, places in motion.items():
        bpy.context.scene.frame_set(frame)
        for name in names:
            move(name, places.get(name, Place()))
        with tour.viewport.context():
            select_bones(rig(), *names)
        tour.viewport.press("I")
        yield REDRAW
        keyed = {
            curve.data_path
            for curve in curves(rig())
            if frame in (point.co.x for point in curve.keyframe_points)
        }
        missing = {name for name in names if f'pose.bones["{name}"].location' not in keyed}
        check(not missing, f"I has not keyed {sorted(missing)} at frame {frame}.")


def curves(ob: bpy.types.Object) -> Any:
    """Return the F-curves of an object's action, an empty tuple if it has none."""
    data, animation = ob.animation_data, sys.modules[f"{MODULE}.rig.reading.animation"]
    if not (data and data.action):
        return ()
    return animation.bags_of_action(data.action, getattr(data, "action_slot", None))[0].fcurves


def read_file() -> dict[str, object]:
    """Return the contents of the file by name: objects, their bones, chains and keys."""
    state: dict[str, object] = {"frame": bpy.context.scene.frame_current}
    for ob in bpy.data.objects:
        state[ob.name] = ob.type, ob.mode, _plain(ob.matrix_basis)
        state |= {f"{ob.name}, {name}": item for name, item in _plain(ob.chain_ik).items()}
        for chain in state.pop(f"{ob.name}, chains"):
            state |= {f"{ob.name}, {chain['name']}, {name}": item for name, item in chain.items()}
        for curve in curves(ob):
            points = [(*point.co, point.interpolation) for point in curve.keyframe_points]
            state[f"{ob.name}, {curve.data_path}[{curve.array_index}]"] = points
        for bone in ob.pose.bones if ob.pose else ():
            channels = bone.location, bone.rotation_quaternion, bone.scale, bone.matrix
            rest = bone.bone.matrix_local, bone.parent and bone.parent.name
            state[f"{ob.name}, {bone.name}"] = [
                *map(_plain, (*channels, *rest)),
                _plain(bone.constraints),
                sorted((name, _plain(value)) for name, value in bone.items()),
                sorted(collection.name for collection in bone.bone.collections),
            ]
    return state


def find_changes(first: dict[str, object], second: dict[str, object]) -> list[str]:
    """Return the names whose values differ in two states of the file."""
    return [name for name in {**first, **second} if first.get(name) != second.get(name)]


def check_file(expected: dict[str, object], when: str) -> None:
    """Check that the contents of the file are as expected; ``when`` begins the sentence."""
    differences = ", ".join(find_changes(read_file(), expected)[:8])
    check(not differences, f"{when}, these are not as they were: {differences}.")


def undo_and_redo(tour: Tour, before: dict[str, object]) -> Session:
    """Press Ctrl Z and Ctrl Shift Z; check that they restore the earlier and the present state."""
    after = read_file()
    for expected, is_redone in ((before, False), (after, True)):
        yield from tour.rest_mouse()
        yield from tour.viewport.undo(is_redone=is_redone)
        check_file(expected, "Redone" if is_redone else "Undone")


def _plain(value: object) -> object:
    """Return a value of Blender as plain Python data, with references as names."""
    if isinstance(value, bpy.types.ID):
        return value.name
    if isinstance(value, bpy.types.bpy_struct):
        names = [prop.identifier for prop in value.bl_rna.properties]
        return {name: _plain(getattr(value, name)) for name in names if name != "rna_type"}
    if hasattr(value, "__len__") and not isinstance(value, (str, set)):
        return [_plain(item) for item in value]
    return value
