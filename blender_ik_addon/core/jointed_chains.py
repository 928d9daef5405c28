"""Chains of jointed bones compiled from the records of their joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import limits, swings, turns, vectors
from .jointed import Jointed
from .kinematics.start_pose import StartPose
from .model.joints import Joints
from .posed import Posed
from .vectors import Array, norm


def jointed_bones(joints: Joints, unit: Array, reach: Array) -> Jointed:
    """Return what the joints of bones allow, in units (B,); the bones have no segments yet."""
    low, high = _bones_first(joints.low), _bones_first(joints.high)
    offsets = _bones_first(joints.offsets)
    zero = np.zeros((len(joints.kinds), 4, len(reach)))
    zero[:, 0] = 1.0
    for bone, kind in enumerate(joints.kinds):
        wide = limits.wide_middle(kind, low[bone], high[bone])
        if wide is not None:
            axis, middle = wide
            zero[bone] = limits.about(axis, middle)
            offsets[bone] = vectors.compose(offsets[bone], turns.matrices(zero[bone]))
            low[bone, axis] -= middle
            high[bone, axis] -= middle
    rooms = [limits.room(*each) for each in zip(joints.kinds, low, high, strict=True)]
    return Jointed(
        kinds=joints.kinds,
        offsets=offsets,
        zero=zero,
        segments=np.zeros((len(joints.kinds), 3, len(reach))),
        low=low,
        high=high,
        ranges=swings.compiled(*(np.array(ends) for ends in zip(*rooms, strict=True))),
        mobility=_bones_first(joints.mobility),
        slide_low=_bones_first(joints.slide_low) / unit,
        slide_high=_bones_first(joints.slide_high) / unit,
        reach=reach,
    )


def jointed_chains(start: StartPose, joints: Joints) -> Jointed:
    """Return jointed chains in the units of their start poses."""
    chain = jointed_bones(joints, start.unit, start.reach)
    turn = chain.inner(joints.start_wxyz)
    posed = chain.posed(chain.state(turn, np.zeros_like(chain.slide_low)))
    axes = np.einsum("nijb,njkb->bnik", posed.frames, posed.own)
    segments = np.diff(start.points, axis=0).transpose(2, 0, 1)[..., None]
    found = np.linalg.solve(axes, segments)[..., 0]
    chain = replace(chain, segments=np.ascontiguousarray(found.transpose(1, 2, 0)))
    if not (joints.slide_low.any() or joints.slide_high.any()):
        return chain
    chain = replace(chain, slide_axes=_bones_first(joints.slide_axes))
    return replace(chain, slide_room=_slide_room(chain, posed, start))


def _slide_room(chain: Jointed, posed: Posed, start: StartPose) -> Array:
    """Return how much longer slides make chains at most, each by itself, shape (n, B)."""
    slid = chain.slid(posed)
    before = np.diff(start.points, axis=0, prepend=start.points[:1])[:-1]
    ends = [norm(before + slid * end[:, None]) for end in (chain.slide_low, chain.slide_high)]
    room: Array = np.maximum(*ends) - norm(before)
    return room


def _bones_first(rows: Array) -> Array:
    """Return what has one row a chain in the layout of the solvers."""
    return np.array(np.moveaxis(rows, 0, -1), order="C")
