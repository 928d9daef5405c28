"""Influence, locks, part of a rotation, a start from what stands there: side by side as alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import bpy
import numpy as np
import pytest

from blender_ik_addon.core.solving.compiled_chains import MAX_CHAINS_IN_FLOATS
from tests.blender.rigid import rigid_rigs
from tests.blender.rigid.rigid_paths import (
    Seen,
    assert_quick,
    assert_same,
    bone_by_bone,
    differences,
    find_unsure,
    seen,
)
from tests.blender.rigid.rigid_rigs import Limb
from tests.blender.setups import rigs
from tests.helpers import make_rng

pytestmark = pytest.mark.slow


def build(seed: int, share: float, copies: int) -> list[Limb]:
    """Return limbs that start from their poses, some of which turn their tips a part of the way."""
    rng = make_rng(seed)
    kinds = rigid_rigs.kinds(seed, share)
    weights = [0.35 if kind.weight == 1.0 and rng.random() < 0.7 else kind.weight for kind in kinds]
    kinds = [replace(kind, weight=own) for kind, own in zip(kinds, weights, strict=True)]
    return rigid_rigs.build(kinds, copies, seed=seed)


def set_up(limbs: Sequence[Limb], seed: int) -> None:
    """Give limbs influences, and lock some of their channels."""
    rng = make_rng(seed)
    for limb in limbs:
        if rng.random() < 0.6:
            limb.settings.influence = rng.choice((0.1, 0.3, 0.5, 0.9))
        for name in limb.bones if rng.random() < 0.5 else ():
            bone = limb.object.pose.bones[name]
            bone.lock_rotation = [bool(rng.random() < 0.3) for _ in range(3)]
            bone.lock_rotation_w = bool(rng.random() < 0.3)
            bone.lock_rotations_4d = bool(rng.random() < 0.5)


@pytest.mark.parametrize(("copies", "share"), [(1, 0.6), (MAX_CHAINS_IN_FLOATS + 3, 0.1)])
def test_settings_that_change_a_solved_pose_do_so_side_by_side(copies, share, monkeypatch):
    limbs = build(200 + copies, share, copies)
    set_up(limbs, copies)
    quick = seen(limbs)
    assert_quick(limbs, copies)
    slow = bone_by_bone(limbs, monkeypatch)
    unsure = find_unsure(limbs, slow, monkeypatch)
    for each in zip(quick, slow, unsure, strict=True):
        assert_same(*each)


def from_present(limbs: Sequence[Limb], poses: dict[str, list[tuple[float, ...]]]) -> list[Seen]:
    """Return what limbs show after an update from the same pose, and after their targets moved."""
    bpy.context.scene.chain_ik.use_live = False
    for limb in limbs:
        for name, channels in zip(limb.bones, poses[str(limb.key)], strict=True):
            bone = limb.object.pose.bones[name]
            setattr(bone, rigs.rotation_property(bone), channels)
    bpy.context.scene.chain_ik.use_live = True
    return seen(limbs)


@pytest.mark.parametrize(("copies", "share"), [(1, 0.5), (MAX_CHAINS_IN_FLOATS + 3, 0.08)])
def test_chains_that_start_from_what_stands_there_do_so_side_by_side(copies, share, monkeypatch):
    limbs = build(300 + copies, share, copies)
    set_up(limbs, 10 + copies)
    poses = {}
    for limb in limbs:
        limb.settings.start_from = "CURRENT"
        bones = [limb.object.pose.bones[name] for name in limb.bones]
        poses[str(limb.key)] = [tuple(getattr(b, rigs.rotation_property(b))) for b in bones]
    quick = from_present(limbs, poses)
    assert_quick(limbs, copies)
    again = seen(limbs)
    for one, other in zip(quick, again, strict=True):
        assert np.array_equal(one.channels, other.channels)
    with monkeypatch.context() as patch:
        patch.setattr(
            "tests.blender.rigid.rigid_paths.seen", lambda each: from_present(each, poses)
        )
        slow = bone_by_bone(limbs, monkeypatch)
    found = np.array([differences(*each) for each in zip(quick, slow, strict=True)])
    assert np.mean(found <= 2e-6) >= 0.9
    for one, other in zip(quick, slow, strict=True):
        assert one.status == other.status
