"""Bones with joints compiled for the sweeps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra import arrays, nested, turns
from ..algebra.arithmetic import Array, Flags
from . import joint_limits
from .bones import Bone, Bones
from .swing_twist import SwingTwistRange

# Offsets whose entries differ from a scaled rotation by less than this count as rigid: bones are
# stored in float32. Ten times smaller, some rigs would be swept with matrices, which takes longer.
SHEAR = 1e-6

if TYPE_CHECKING:
    from .compiled_joints import CompiledJoints
    from .kinematic_tree import KinematicTree


def compile_bones(tree: KinematicTree, *, is_few: bool) -> list[Bones]:
    """Return the bones of B trees: one record a tree in floats, or one of all in arrays.

    Bones that move no effector are left out. Slides stay where they start. The bones are cached
    with the trees.
    """
    known: dict[bool, list[Bones]] = tree.__dict__.setdefault("compiled_bones", {})
    if is_few not in known:
        rows = range(tree.reach.size) if is_few else (None,)
        known[is_few] = [_bones(tree, partial(_pick, row=row)) for row in rows]
    return known[is_few]


def _pick(array: Array, row: int | None) -> Any:
    """Return an array (..., B) as tuples of numbers: of one row, or of all."""
    if row is None:
        return nested.to_numbers(array, array.ndim - 1)
    return nested.to_floats(array, row)


def _bones(tree: KinematicTree, pick: Callable[[Array], Any]) -> Bones:
    """Return one record of bones; ``pick`` makes tuples of numbers of arrays (..., B)."""
    topology, led = tree.topology, tree.topology.led
    joints, heads = tree.joints.take_bones(led), tree.slide_heads(tree.joints.resting_slide)[led]
    place = {bone: i for i, bone in enumerate([-1, *led], start=-1)}
    parents = [place[topology.parents[bone]] for bone in led]
    carriers = [*parents, *(place[bone] for bone in topology.effector_bones)]
    volumes = np.linalg.det(joints.offsets.transpose(0, 3, 1, 2))
    scales = np.cbrt(np.abs(volumes))
    for bone, parent in enumerate(parents):
        if parent >= 0:
            scales[bone] *= scales[parent]
    offsets, shown = joints.offsets, joints.offsets / np.cbrt(volumes)[:, None, None]
    rotations = turns.from_matrices(shown)
    bent = shown - turns.to_matrices(rotations)
    is_rigid = bool((volumes > 0.0).all() and (np.abs(bent) < SHEAR).all())
    segments = np.concatenate((heads, tree.ends))
    if is_rigid:
        # Rigid bones are measured in the space of the chain.
        segments = segments * scales[carriers][:, None]
        scales, offsets = np.ones_like(scales), turns.to_matrices(rotations)
    turns_axes = (offsets != np.eye(3)[..., None]).any(axis=(1, 2, 3))
    inverses = arrays.invert(offsets)
    ends = [tuple(p for p, on in enumerate(carriers) if on == bone) for bone in range(len(led))]
    ways, lengths = pick(segments), pick(arrays.norm(segments))
    columns = (
        parents,
        ends,
        [tuple(ways[end] for end in each) for each in ends],
        [lengths[each[0]] for each in ends],
        _where(turns_axes, pick(offsets)),
        _where(turns_axes, pick(inverses)),
        pick(rotations),
        pick(scales),
        _joints(joints, pick),
        [joint_limits.HINGES.get(kind) for kind in joints.kinds],
        pick(joints.readiness) if joints.has_stiffness else (None,) * len(led),
    )
    bones = tuple(Bone(*each) for each in zip(*columns, strict=True))
    roots = tuple((i, head) for i, head in enumerate(pick(heads)) if parents[i] < 0)
    return Bones(bones, roots, pick(tree.reach), is_rigid, len(tree.ends))


def weigh_points(tree: KinematicTree) -> Array:
    """Return the weights of the points of bones, as ``Targets`` takes them, (n + E, B)."""
    topology = tree.topology
    if len(tree.ends) == 1:
        return np.empty((0, tree.reach.size))
    # None is quite zero: means are taken by them.
    weights = tree.sqrt_weights**2 + arrays.NO_DIRECTION
    beyond = [weights[topology.moves[bone]].sum(axis=0) for bone in topology.led]
    return np.concatenate((beyond, weights))


def _where(flags: Flags, values: nested.Nested) -> list[nested.Nested]:
    """Return values where flags are set, None elsewhere."""
    return [value if flag else None for flag, value in zip(flags.tolist(), values, strict=True)]


def _joints(joints: CompiledJoints, pick: Callable[[Array], Any]) -> list[SwingTwistRange | None]:
    has_ends = joints.ranges.has_ends.any(axis=(1, 2))
    numbers = zip(*(pick(number) for number in joints.ranges), strict=True)
    return [
        SwingTwistRange(*each) if is_limited else None
        for each, is_limited in zip(numbers, has_ends, strict=True)
    ]
