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

# Offsets that differ from a scaled rotation by less, in every entry, are rigid: bones are stored in
# float32. If this were ten times smaller, some rigs would need matrices, which makes sweeps slower.
MIN_SHEAR = 1e-6

if TYPE_CHECKING:
    from .kinematic_tree import KinematicTree


def compile_bones(tree: KinematicTree, *, is_in_floats: bool) -> list[Bones]:
    """Return the bones of B trees: in floats one record per tree, in arrays one record for all.

    Bones that move no effector are left out. Slides keep their start values. The bones are cached
    with the trees.
    """
    cached: dict[bool, list[Bones]] = tree.__dict__.setdefault("compiled_bones", {})
    if is_in_floats not in cached:
        rows = range(tree.reach.size) if is_in_floats else (None,)
        cached[is_in_floats] = [_make_bones(tree, partial(_pick, row=row)) for row in rows]
    return cached[is_in_floats]


def _pick(array: Array, row: int | None) -> Any:
    """Return an array (..., B) as tuples of numbers: of one row, or of all."""
    if row is None:
        return nested.to_numbers(array, array.ndim - 1)
    return nested.to_floats(array, row)


def _make_bones(tree: KinematicTree, pick: Callable[[Array], Any]) -> Bones:
    """Return one record of bones; ``pick`` converts arrays (..., B) to tuples of numbers."""
    topology, used = tree.topology, tree.topology.path_bones
    joints, heads = tree.joints.take_bones(used), tree.slide_heads(tree.joints.start_slide)[used]
    row_of = {bone: i for i, bone in enumerate([-1, *used], start=-1)}
    parents = [row_of[topology.parents[bone]] for bone in used]
    carriers = [*parents, *(row_of[bone] for bone in topology.effector_bones)]
    volumes = np.linalg.det(joints.offsets.transpose(0, 3, 1, 2))
    scales = np.cbrt(np.abs(volumes))
    for bone, parent in enumerate(parents):
        if parent >= 0:
            scales[bone] *= scales[parent]
    offsets, unscaled = joints.offsets, joints.offsets / np.cbrt(volumes)[:, None, None]
    rotations = turns.from_matrices(unscaled)
    shear = unscaled - turns.to_matrices(rotations)
    is_rigid = bool((volumes > 0.0).all() and (np.abs(shear) < MIN_SHEAR).all())
    segments = np.concatenate((heads, tree.ends))
    if is_rigid:
        # Rigid bones are measured in the space of the chain.
        segments = segments * scales[carriers][:, None]
        scales, offsets = np.ones_like(scales), turns.to_matrices(rotations)
    has_offset = (offsets != np.eye(3)[..., None]).any(axis=(1, 2, 3))
    ranges = [SwingTwistRange(*numbers) for numbers in zip(*map(pick, joints.ranges), strict=True)]
    ends = [tuple(i for i, on in enumerate(carriers) if on == bone) for bone in range(len(used))]
    vectors, lengths = pick(segments), pick(arrays.norm(segments))
    columns = (
        parents,
        ends,
        [tuple(vectors[end] for end in bone_ends) for bone_ends in ends],
        [lengths[bone_ends[0]] for bone_ends in ends],
        _select(has_offset, pick(offsets)),
        _select(has_offset, pick(arrays.invert(offsets))),
        pick(rotations),
        pick(scales),
        _select(joints.ranges.has_ends.any(axis=(1, 2)), ranges),
        [joint_limits.HINGES.get(kind) for kind in joints.kinds],
        pick(joints.relative_mobility) if joints.has_stiffness else (None,) * len(used),
    )
    bones = tuple(Bone(*fields) for fields in zip(*columns, strict=True))
    roots = tuple((i, head) for i, head in enumerate(pick(heads)) if parents[i] < 0)
    return Bones(bones, roots, pick(tree.reach), is_rigid, len(tree.ends))


def weigh_points(tree: KinematicTree) -> Array:
    """Return the weights of the points of bones, as in ``Targets``, (n + E, B)."""
    topology = tree.topology
    if len(tree.ends) == 1:
        return np.empty((0, tree.reach.size))
    # No weight is zero, because means are weighted by them.
    weights = tree.sqrt_weights**2 + arrays.MIN_LENGTH
    beyond = [weights[topology.is_on_path[bone]].sum(axis=0) for bone in topology.path_bones]
    return np.concatenate((beyond, weights))


def _select(flags: Flags, values: nested.Nested) -> list[nested.Nested]:
    """Return values with None in place of those that are not flagged."""
    return [value if flag else None for flag, value in zip(flags.tolist(), values, strict=True)]
