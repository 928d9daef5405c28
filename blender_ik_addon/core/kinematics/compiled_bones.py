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

# Offsets that differ by less from rotations are such, stored in float32.
SHEAR = 1e-6

if TYPE_CHECKING:
    from .compiled_joints import CompiledJoints
    from .kinematic_tree import KinematicTree


def compile_bones(chain: KinematicTree, *, is_few: bool) -> list[Bones]:
    """Return the bones of B chains: one record a chain in floats, or one of all in arrays.

    Slides stay where they start. What is compiled is kept with the chains.
    """
    known: dict[bool, list[Bones]] = chain.__dict__.setdefault("compiled_bones", {})
    if is_few not in known:
        known[is_few] = _compile(chain, is_few=is_few)
    return known[is_few]


def _compile(chain: KinematicTree, *, is_few: bool) -> list[Bones]:
    if not is_few:
        return [_bones(chain, nested.to_numbers)]
    return [_bones(chain, partial(nested.to_floats, row=row)) for row in range(chain.reach.size)]


def _bones(chain: KinematicTree, pick: Callable[[Array], Any]) -> Bones:
    """Return one record of bones; ``pick`` makes tuples of numbers of arrays (..., B)."""
    (root, *steps), joints = chain.resting_steps, chain.joints
    segments = np.array(steps)
    volumes = np.linalg.det(joints.offsets.transpose(0, 3, 1, 2))
    scales = np.cumprod(np.cbrt(np.abs(volumes)), axis=0)
    rotations, offsets = turns.from_matrices(joints.offsets), joints.offsets
    bent = offsets / np.cbrt(volumes)[:, None, None] - turns.to_matrices(rotations)
    is_rigid = bool((volumes > 0.0).all() and (np.abs(bent) < SHEAR).all())
    if is_rigid:
        # Rigid bones are measured in the space of the chain.
        segments, scales = segments * scales[:, None], np.ones_like(scales)
        offsets = turns.to_matrices(rotations)
    turns_axes = (offsets != np.eye(3)[..., None]).any(axis=(1, 2, 3))
    inverses = arrays.invert(offsets)
    readiness = pick(joints.readiness) if joints.has_stiffness else (None,) * len(segments)
    columns = (
        pick(arrays.norm(segments)),
        pick(segments),
        _where(turns_axes, pick(offsets)),
        _where(turns_axes, pick(inverses)),
        pick(rotations),
        pick(scales),
        _joints(joints, pick),
        [joint_limits.HINGES.get(kind) for kind in joints.kinds],
        readiness,
    )
    bones = tuple(Bone(*each) for each in zip(*columns, strict=True))
    return Bones(bones, pick(root), pick(chain.reach), is_rigid)


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
