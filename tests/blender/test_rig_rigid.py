"""Chains of rigid bones: the quick path and the one bone by bone lead to the same pose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
import numpy.typing as npt
import pytest

from blender_ik_addon.core import FEW, Status, rotation
from blender_ik_addon.rig import live
from blender_ik_addon.rig.channels import MODE_NUMBERS, matrices_of
from tests.blender import rigid_rigs, rigs
from tests.blender.rigid_rigs import Limb

Array = npt.NDArray[np.float64]

# Radians, and shares of a chain's length.
SAME = 2e-6


@dataclass(frozen=True)
class Seen:
    """What a chain shows after a solve.

    Attributes:
        modes: Rotation modes of its bones.
        channels: What their rotation channels hold, shape (k, 4).
        joints: Heads and the last tail, world space, shape (k + 1, 3).
        status: How the solve ended.
        text: The status line, without its numbers.
        residual: In scene units.
    """

    modes: npt.NDArray[np.int32]
    channels: Array
    joints: Array
    status: Status
    text: str
    residual: float


def seen(limbs: Sequence[Limb]) -> list[Seen]:
    """Return what chains show after one update."""
    depsgraph = rigs.updated()
    posed = {limb.rig: rigs.evaluated(limb.object, depsgraph) for limb in limbs}
    return [_seen(limb, posed[limb.rig]) for limb in limbs]


def _seen(limb: Limb, posed: bpy.types.Object) -> Seen:
    bones = [posed.pose.bones[name] for name in limb.bones]
    ends = [*(bone.head for bone in bones), bones[-1].tail]
    original = [limb.object.pose.bones[name] for name in limb.bones]
    channels = [(*getattr(bone, rigs.rotation_property(bone)), 0.0)[:4] for bone in original]
    outcome = live.memory.outcome(limb.key)
    assert not isinstance(outcome, str | None), outcome
    return Seen(
        modes=np.array([MODE_NUMBERS[bone.rotation_mode] for bone in original]),
        channels=np.array(channels),
        joints=np.array([posed.matrix_world @ end for end in ends]),
        status=outcome.status,
        text=re.sub(r"[\d.e+-]+ (um|mm|m|iterations?)\b", "#", limb.settings.status),
        residual=limb.settings.residual,
    )
