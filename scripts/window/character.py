"""Rigify's human as the tours use it: how its controls move, its pose, and what its file says."""

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
# What matrices of bones may differ by; those of a pop are a hundred times larger.
SAME = 1e-4


class Place(NamedTuple):
    """Where a control is beside its rest place.

    Attributes:
        offset: Metres; the character looks along -Y.
        pitch: Degrees about X; above zero it leans forward, a foot points its toes down.
        roll: Degrees of the foot's custom property.
    """

    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    pitch: float = 0.0
    roll: float = 0.0


# By frame where controls are; those that a frame leaves out are at rest.
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
# By frame along -Y and Z: torso, left and right foot; with their pitch and roll. Each foot stands
# until the other one does: its heel comes down first, its toes leave last.
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
# The frames at which toes stay on the floor while their foot rolls.
STANDING = {"toe.R": range(46, 57), "toe.L": range(61, 67)}


def rig() -> bpy.types.Object:
    """Return the character. By name: undo replaces all references."""
    return bpy.data.objects[RIG]


def pose(*names: str) -> np.ndarray:
    """Return the matrices of bones, else of all that deform, as evaluated, shape (n, 4, 4)."""
    bones = rig().evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    names = names or tuple(bone.name for bone in bones if bone.bone.use_deform)
    return np.array([bones[name].matrix for name in names])


def check_same(found: np.ndarray, expected: np.ndarray, when: str) -> None:
    check_near(found, expected, SAME, f"{when} the pose")


def check_reached(when: str) -> None:
    """Check that every chain that is not muted says that it has arrived."""
    for chain in rig().chain_ik.chains:
        is_right = chain.mute or chain.influence == 0.0 or chain.status.startswith("Reached")
        check(is_right, f"{when}, {chain.name}: {chain.status}")


def play_through(frames: Iterable[int], *names: str) -> np.ndarray:
    """Return ``pose`` at frames in order, shape (f, n, 4, 4); all chains arrive at each."""
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        check_reached(f"At frame {frame}")
        found.append(pose(*names))
    return np.array(found)


def put(name: str, place: Place) -> None:
    """Put a control beside its rest place, in its space."""
    bone = rig().pose.bones[name]
    rest = bone.bone.matrix_local.to_3x3()
    turn = Matrix.Rotation(radians(place.pitch), 3, "X")
    bone.location = rest.inverted() @ Vector(place.offset)
    bone.rotation_quaternion = (rest.inverted() @ turn @ rest).to_quaternion()
    if ROLL in bone:
        bone[ROLL] = radians(place.roll)
    # No script's change of a custom property is noticed by Blender.
    rig().update_tag()


def act(tour: Tour, motion: Motion) -> Session:
    """Put the controls of a motion where they belong at each of its frames, and press I."""
    names = sorted({name for places in motion.values() for name in places})
    yield from tour.rest_mouse()
    for frame, places in motion.items():
        bpy.context.scene.frame_set(frame)
        for name in names:
            put(name, places.get(name, Place()))
        with tour.viewport.context():
            select_bones(rig(), *names)
        tour.viewport.press("I")
        yield REDRAW
        keyed = {
            curve.data_path
            for curve in curves(rig())
            if frame in (point.co.x for point in curve.keyframe_points)
        }
        left = {name for name in names if f'pose.bones["{name}"].location' not in keyed}
        check(not left, f"I has not keyed {sorted(left)} at frame {frame}.")


def curves(ob: bpy.types.Object) -> Any:
    """Return the F-curves of an object's action, as Blender holds them; none without."""
    data, animation = ob.animation_data, sys.modules[f"{MODULE}.rig.reading.animation"]
    if not (data and data.action):
        return ()
    return animation.bags_of_action(data.action, getattr(data, "action_slot", None))[0].fcurves


def read_file() -> dict[str, object]:
    """Return what the file says of its objects, their bones, chains and keys, by name."""
    found: dict[str, object] = {"frame": bpy.context.scene.frame_current}
    for ob in bpy.data.objects:
        found[ob.name] = ob.type, ob.mode, _plain(ob.matrix_basis)
        found |= {f"{ob.name}, {name}": each for name, each in _plain(ob.chain_ik).items()}
        for chain in found.pop(f"{ob.name}, chains"):
            found |= {f"{ob.name}, {chain['name']}, {name}": each for name, each in chain.items()}
        for curve in curves(ob):
            points = [(*point.co, point.interpolation) for point in curve.keyframe_points]
            found[f"{ob.name}, {curve.data_path}[{curve.array_index}]"] = points
        for bone in ob.pose.bones if ob.pose else ():
            channels = bone.location, bone.rotation_quaternion, bone.scale, bone.matrix
            rest = bone.bone.matrix_local, bone.parent and bone.parent.name
            found[f"{ob.name}, {bone.name}"] = [
                *map(_plain, (*channels, *rest)),
                _plain(bone.constraints),
                sorted((name, _plain(value)) for name, value in bone.items()),
                sorted(collection.name for collection in bone.bone.collections),
            ]
    return found


def differing(one: dict[str, object], other: dict[str, object]) -> list[str]:
    """Return the names under which two states of the file differ."""
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def check_file(expected: dict[str, object], when: str) -> None:
    """Check that the file says what it said; ``when`` is followed by what does not."""
    lost = ", ".join(differing(read_file(), expected)[:8])
    check(not lost, f"{when}, these are not as they were: {lost}.")


def undo_and_redo(tour: Tour, before: dict[str, object]) -> Session:
    """Press Ctrl Z and Ctrl Shift Z: one step restores the state of before, and the present one."""
    after = read_file()
    for expected, is_redone in ((before, False), (after, True)):
        yield from tour.rest_mouse()
        yield from tour.viewport.undo(is_redone=is_redone)
        check_file(expected, "Redone" if is_redone else "Undone")


def _plain(value: object) -> object:
    """Return a value of Blender's as one that outlives it: references as names."""
    if isinstance(value, bpy.types.ID):
        return value.name
    if isinstance(value, bpy.types.bpy_struct):
        names = [each.identifier for each in value.bl_rna.properties]
        return {name: _plain(getattr(value, name)) for name in names if name != "rna_type"}
    if hasattr(value, "__len__") and not isinstance(value, (str, set)):
        return [_plain(each) for each in value]
    return value
