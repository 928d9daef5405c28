"""The file with every kind of chain, how it was made, and what its chains do on its frames.

    python -m tests.blender.kept.kept_file make     with Blender 4.2, which every later one reads
    python -m tests.blender.kept.kept_file record   with the newest Blender

The first writes tests/data/every_kind.blend, the second the poses beside it. Both belong to the
commit that they were made with: whoever makes them anew has nothing left to compare with.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt
from mathutils import Matrix, Quaternion, Vector

from blender_ik_addon.properties import chain_spec
from tests.blender.kept.kept_bonds import BONDS, Bond
from tests.blender.kept.kept_kinds import KINDS, Kind
from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import make_rng

Array = npt.NDArray[np.float64]

DATA = Path(__file__).parents[2] / "data"
FILE, POSES = DATA / "every_kind.blend", DATA / "every_kind.json"
KEYED = (1, 4, 7)
PLAYED = range(1, 8)
RECORDED = (2, 5, 7)
TOLERANCE = 1e-7
"""Of the chains: far below what is compared, so that an iteration more is no other pose."""
MOST_TURN = 0.45
DIGITS = 7
UNMOVED = (0.0, 0.0, 0.0, 1.0, 1.0, 1.0)


def make(path: Path) -> None:
    """Build all kinds and save them, solved at the first frame."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = PLAYED[0], PLAYED[-1]
    scene.frame_set(PLAYED[0])
    scene.chain_ik.use_live = False
    for name, kind in KINDS.items():
        _build(name, kind)
    for name, bond in BONDS.items():
        _bond(name, bond)
    scene.frame_set(PLAYED[0])
    scene.chain_ik.use_live = True
    bpy.context.view_layer.update()
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True)


def _build(name: str, kind: Kind) -> None:
    """Add one kind: a bone above, the chain's bones, one below the tip; target and pole."""
    seed = zlib.crc32(name.encode())
    ob = rigs.make_armature(name)
    rigs.add_bones(ob, ((0.1, 0.0, -0.6), (0.0, 0.0, 0.0)), prefix="Above")
    joints = rigs.zigzag(kind.bones, seed=seed % 1000)
    bones = rigs.add_bones(
        ob, joints, parent="Above.0", is_connected=kind.is_connected, modes=kind.modes
    )
    rigs.add_bones(ob, (joints[-1], joints[-1] + (0.2, 0.0, 0.3)), prefix="Leaf", parent=bones[-1])
    rng = make_rng(seed)
    ob.rotation_euler = rng.uniform(-0.5, 0.5, 3)
    scaled_rigs.turn(ob, ("Above.0",), rng, 0.5)
    for dress in kind.dress:
        dress(ob, bones)
    target = rigs.make_empty(f"{name} target")
    is_tail = bool(kind.settings.get("use_tail", True))
    _key_places(ob, {target: (bones[-1], is_tail)}, bones, rng, kind)
    settings = dict(kind.settings)
    if kind.has_pole:
        settings["pole_target"] = _add_pole(ob, bones, rng)
    # Without its tail the tip bone is none of those that are counted.
    count = len(bones) - (not is_tail)
    chain = rigs.add_chain(
        ob, bones[-1], target, name="Chain", solver=kind.solver, chain_count=count,
        tolerance=TOLERANCE, **settings,
    )  # fmt: skip
    for suit in kind.suit:
        suit(chain, bones)


def _bond(name: str, bond: Bond) -> None:
    """Add chains that share bones, or stand on each other."""
    rng = make_rng(zlib.crc32(name.encode()))
    tree = bond.make(name)
    for dress in bond.dress:
        dress(tree.ob, list(tree.tips.values()))
    targets = {each: rigs.make_empty(f"{name} {each}") for each in tree.tips}
    ends = {targets[each]: (tip, True) for each, tip in tree.tips.items()}
    _key_places(tree.ob, ends, list(tree.ob.pose.bones.keys()), rng, bond)
    for each, bone in bond.carried.items():
        _hang(targets[each], tree.ob, bone)
    for each, tip in tree.tips.items():
        settings = {**bond.settings, **bond.own.get(each, {})}
        if bond.has_pole:
            settings["pole_target"] = _add_pole(tree.ob, (tip,), rng)
        rigs.add_chain(tree.ob, tip, targets[each], name=each, tolerance=TOLERANCE, **settings)


def _key_places(
    ob: bpy.types.Object,
    ends: dict[bpy.types.Object, tuple[str, bool]],
    bones: Sequence[str],
    rng: np.random.Generator,
    kind: Kind | Bond,
) -> None:
    """Key targets to where ends of bones get when all bones turn, and farther out."""
    for target in ends:
        target.rotation_mode = "QUATERNION"
    before = {bone: ob.pose.bones[bone].matrix_basis.copy() for bone in bones}
    for frame in KEYED:
        for i, bone in enumerate(bones):
            turn = _turn(rng, kind.axes.get(i, "xyz"))
            ob.pose.bones[bone].matrix_basis = before[bone] @ turn
        bpy.context.view_layer.update()
        root = Vector(rigs.head(ob, bones[0]))
        for target, (bone, is_tail) in ends.items():
            place = Vector((rigs.tail if is_tail else rigs.head)(ob, bone))
            target.location = root + kind.far * (place - root)
            target.rotation_quaternion = _axes(ob, bone)
            target.keyframe_insert("location", frame=frame)
            target.keyframe_insert("rotation_quaternion", frame=frame)
    for bone, matrix in before.items():
        ob.pose.bones[bone].matrix_basis = matrix
    for target in ends:
        for curve in rigs.curves_of(target):
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"
    bpy.context.view_layer.update()


def _hang(target: bpy.types.Object, ob: bpy.types.Object, bone: str) -> None:
    """Have a bone carry a target, which moves a little on it."""
    target.parent, target.parent_type, target.parent_bone = ob, "BONE", bone
    target.animation_data_clear()
    rigs.key(target, "location", {1: (0.5, 0.1, 0.1), 7: (0.4, -0.2, 0.2)})


def _turn(rng: np.random.Generator, axes: str) -> Matrix:
    """Return a turn about one of the axes, or about any."""
    angle = rng.uniform(-MOST_TURN, MOST_TURN)
    if axes == "xyz":
        return Matrix.Rotation(angle, 4, Vector(rng.normal(size=3)))
    if not axes:
        return Matrix.Identity(4)
    return Matrix.Rotation(angle, 4, axes[rng.integers(len(axes))].upper())


def _axes(ob: bpy.types.Object, bone: str) -> Quaternion:
    """Return an evaluated bone's turn in the world: a rotation also where that is mirrored."""
    posed = rigs.evaluated(ob)
    matrix = (posed.matrix_world @ posed.pose.bones[bone].matrix).to_3x3()
    y, z = matrix.col[1].normalized(), matrix.col[2]
    x = y.cross(z).normalized()
    return Matrix((x, y, x.cross(y))).transposed().to_quaternion()


def _add_pole(
    ob: bpy.types.Object, bones: Sequence[str], rng: np.random.Generator
) -> bpy.types.Object:
    """Return a pole beside the bones that moves."""
    middle = 0.5 * (rigs.head(ob, bones[0]) + rigs.tail(ob, bones[-1]))
    aside = np.array([*rng.normal(size=2), 0.2])
    aside *= 3.0 / np.linalg.norm(aside)
    pole = rigs.make_empty(f"{ob.name} pole")
    ways = {1: middle + aside, 7: middle + aside + rng.uniform(-0.6, 0.6, 3)}
    rigs.key(pole, "location", ways)
    return pole


def play(path: Path = FILE) -> dict[str, dict[str, Any]]:
    """Play the file, and return what each kind did on the frames that are recorded.

    All frames are played only of chains whose pose depends on the frame before.

    Returns:
        By name of the object: ``rotations`` (f, bones, 4) as quaternions, ``others`` (f, bones, 6)
        locations and scales, ``tips`` (f, chains, 3) tails of tip bones in the world, ``misses``
        (f, chains) the residuals.
    """
    found = _played(path, RECORDED, has_history=False) | _played(path, PLAYED, has_history=True)
    return dict(sorted(found.items()))


def _played(
    path: Path, all_frames: Sequence[int], *, has_history: bool
) -> dict[str, dict[str, Any]]:
    """Open the file, keep the armature objects with or without a history, and play these."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    owners = [ob for ob in bpy.data.objects if ob.type == "ARMATURE" and ob.chain_ik.chains]
    kept = [ob.name for ob in owners if any(map(goes_on, ob.chain_ik.chains)) == has_history]
    bpy.data.batch_remove([ob for ob in owners if ob.name not in kept])
    frames: dict[str, list[dict[str, Any]]] = {name: [] for name in kept}
    for frame in all_frames:
        depsgraph = rigs.go_to(frame)
        if frame in RECORDED:
            for name, found in frames.items():
                found.append(_state(bpy.data.objects[name], depsgraph))
    return {
        name: {key: np.array([each[key] for each in found]) for key in found[0]}
        for name, found in frames.items()
    }


def goes_on(chain: bpy.types.PropertyGroup) -> bool:
    """Return whether the pose of a chain depends on the one before."""
    return chain.start_from == "CURRENT" or chain_spec(chain).goes_on


def _state(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> dict[str, Any]:
    chains = list(ob.chain_ik.chains)
    return {
        "rotations": [rotation_of(bone) for bone in ob.pose.bones],
        "others": [(*bone.location, *bone.scale) for bone in ob.pose.bones],
        "tips": [rigs.tail(ob, chain.bone, depsgraph) for chain in chains],
        "misses": [chain.residual for chain in chains],
    }


def rotation_of(bone: bpy.types.PoseBone) -> Array:
    """Return what a bone's rotation channels say, wxyz."""
    if bone.rotation_mode == "QUATERNION":
        found = Quaternion(bone.rotation_quaternion).normalized()
    elif bone.rotation_mode == "AXIS_ANGLE":
        angle, *axis = bone.rotation_axis_angle
        found = Quaternion(axis, angle)
    else:
        found = bone.rotation_euler.to_quaternion()
    return np.array(found)


def record(path: Path) -> None:
    """Write what the chains of the file do to a text."""
    lines = []
    for name, found in play().items():
        if np.array_equal(found["others"], np.broadcast_to(UNMOVED, found["others"].shape)):
            del found["others"]
        rows = {key: _short(rows) for key, rows in found.items()}
        lines.append(f"{json.dumps(name)}: {json.dumps(rows, separators=(',', ':'))}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def recorded() -> dict[str, dict[str, Array]]:
    """Return what the chains did when the file was made, as `play` does."""
    kept = json.loads(POSES.read_text(encoding="utf-8"))
    found = {
        name: {key: np.array(rows) for key, rows in all_rows.items()}
        for name, all_rows in kept.items()
    }
    for rows in found.values():
        count = rows["rotations"].shape[:2]
        rows.setdefault("others", np.broadcast_to(UNMOVED, (*count, len(UNMOVED))))
    return found


def _short(rows: Array) -> Any:
    # Adding zero: there is no minus zero then.
    return (np.round(rows, DIGITS) + 0.0).tolist()


def main(command: str) -> None:
    """Make the file, or record what it shows."""
    import blender_ik_addon

    blender_ik_addon.register()
    {"make": lambda: make(FILE), "record": lambda: record(POSES)}[command]()


if __name__ == "__main__":
    exit_code = 1
    try:
        main(*sys.argv[1:])
        exit_code = 0
    finally:
        if exit_code:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
        # The 4.2 module would crash at the normal end, see conftest.py.
        os._exit(exit_code)
