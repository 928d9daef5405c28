"""What chains show on the quick path of rigid bones and bone by bone, and how to compare it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
import numpy.typing as npt
import pytest
from mathutils import Vector

from blender_ik_addon.core import Status
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.rig.live import live
from blender_ik_addon.rig.planning import live_chain as limb_module
from blender_ik_addon.rig.reading.channels import AXIS_ANGLE, MODE_NUMBERS, matrices_of
from tests.blender.rigid.rigid_rigs import Limb
from tests.blender.setups import rigs, warm_rigs
from tests.core.chains import random_direction
from tests.helpers import make_rng

Array = npt.NDArray[np.float64]

# Radians, and shares of a chain's length.
SAME = 2e-6
# Float32 leaves targets no better known than by this share of a chain's length, and rest and parent
# matrices no squarer. What changes of that size make of a pose, the two paths may differ by, too.
LAST_DIGITS = 3e-7
NUDGES = 2
SPREAD = 10.0
# Most chains are not as sensitive as that.
MOST = 0.9


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

    @property
    def length(self) -> float:
        """Of the bones, world space."""
        return float(np.linalg.norm(np.diff(self.joints, axis=0), axis=1).sum())


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
    outcome = live.memory.outcome_in(bpy.context.scene, limb.key)
    assert not isinstance(outcome, str | None), outcome
    return Seen(
        modes=np.array([MODE_NUMBERS[bone.rotation_mode] for bone in original]),
        channels=np.array(channels),
        joints=np.array([posed.matrix_world @ end for end in ends]),
        status=outcome.status,
        text=_without_numbers(limb.settings.status),
        residual=limb.settings.residual,
    )


def _without_numbers(status: str) -> str:
    """Return a status without its numbers; what is next to nothing is told or not."""
    told = re.sub(r"[\d.e+-]+ (m|iterations?)\b", "#", status)
    return re.sub(r"^Reached \(#(, #)?\)", "Reached", told)


def ways(limbs: Sequence[Limb]) -> tuple[dict[tuple[int, int], int], set[tuple[int, int]]]:
    """Return which chains are solved as rigid, with how many, and which are not."""
    (graph,) = live.memory.graphs.values()
    (level,) = graph.levels
    beside, alone = {}, set()
    for batch in level.batches:
        for uid, limb in zip(batch.uids, batch.live_chains, strict=True):
            if getattr(batch, "is_even", True):
                beside[uid, limb.job.index] = len(batch.live_chains)
            else:
                alone.add((uid, limb.job.index))
    assert {limb.key for limb in limbs} == beside.keys() | alone
    return beside, alone


def assert_quick(limbs: Sequence[Limb], copies: int) -> None:
    """Check that chains take the quick path, so many side by side."""
    beside, alone = ways(limbs)
    assert not alone, [limb for limb in limbs if limb.key in alone]
    assert set(beside.values()) == {copies}


def bone_by_bone(limbs: Sequence[Limb], monkeypatch: pytest.MonkeyPatch) -> list[Seen]:
    """Return what chains show that are solved the long way."""
    with monkeypatch.context() as patch:
        patch.setattr(limb_module, "_keeps_shape", lambda *_: False)
        warm_rigs.forget()
        found = seen(limbs)
        assert not ways(limbs)[0]
    return found


def nudge(limb: Limb, rng: np.random.Generator) -> None:
    """Move a chain's target by last digits, and make its bones a bit askew."""
    bones = [limb.object.pose.bones[name] for name in limb.bones]
    length = sum(bone.length for bone in bones)
    limb.settings.target.location += Vector(LAST_DIGITS * length * random_direction(rng))
    for bone in bones:
        bone.scale *= Vector(1.0 + LAST_DIGITS * rng.uniform(-1.0, 1.0, 3))


def find_unsure(
    limbs: Sequence[Limb], slow: Sequence[Seen], monkeypatch: pytest.MonkeyPatch
) -> Array:
    """Return what last digits make of chains that were solved bone by bone, as ``differences``."""
    unsure = np.zeros((len(limbs), 2))
    for seed in range(NUDGES):
        for i, limb in enumerate(limbs):
            nudge(limb, make_rng(1000 * seed + i))
        nudged = bone_by_bone(limbs, monkeypatch)
        unsure = np.maximum(unsure, [differences(*each) for each in zip(slow, nudged, strict=True)])
    return unsure


def assert_same(quick: Seen, slow: Seen, unsure: Array | None = None) -> None:
    """Check that a chain shows the same on both paths.

    Args:
        quick: On the one.
        slow: On the other.
        unsure: What last digits make of turns (radians) and joints (share of the length).
    """
    texts = (quick.status, quick.text), (slow.status, slow.text)
    assert texts[0] == texts[1], texts
    allowed = SAME + SPREAD * (np.zeros(2) if unsure is None else unsure)
    assert np.all(differences(quick, slow) <= allowed), (differences(quick, slow), allowed)
    residuals = quick.residual, slow.residual
    assert abs(residuals[0] - residuals[1]) <= SAME * quick.length, (quick.text, *residuals)
    # The same rotations are said by the same numbers, without whole turns or other signs.
    is_no_turn = (quick.modes == AXIS_ANGLE) & (np.abs(slow.channels[:, 0]) < 1e-4)
    assert np.abs(quick.channels - slow.channels)[~is_no_turn].max(initial=0.0) <= 0.05


def differences(one: Seen, other: Seen) -> Array:
    """Return the largest turn in radians, and the largest way of a joint as share of the length."""
    wxyz = [rotation.quaternion_from_matrix(matrices_of(s.channels, s.modes)) for s in (one, other)]
    apart = [np.linalg.norm(wxyz[0] + sign * wxyz[1], axis=1) for sign in (1.0, -1.0)]
    ways_of_joints = np.linalg.norm(one.joints - other.joints, axis=1)
    return np.array([2.0 * np.minimum(*apart).max(), ways_of_joints.max() / one.length])


def assert_moves_as_bone_by_bone(
    limbs: Sequence[Limb], copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that chains take the quick path and show what they do bone by bone."""
    quick = seen(limbs)
    assert_quick(limbs, copies)
    slow = bone_by_bone(limbs, monkeypatch)
    unsure = find_unsure(limbs, slow, monkeypatch)
    for each in zip(quick, slow, unsure, strict=True):
        assert_same(*each)
    found = np.array([differences(*each) for each in zip(quick, slow, strict=True)])
    assert np.mean(found <= SAME) >= MOST
