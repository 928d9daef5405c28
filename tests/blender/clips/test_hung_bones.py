"""Bones of a clip that hang on others: frames that nothing moves keep what was noted."""

from __future__ import annotations

import bpy
import numpy as np

from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.clips.hung import HungBones
from blender_ik_addon.rig.clips.notes import Recorder
from tests.blender.clips.shaken import make_tail
from tests.blender.setups import rigs

TURNED = 3


def test_rounding_moves_no_frame_that_stays():
    ob, _ = make_tail(solver="NEWTON")
    finger = rigs.make_empty("Finger", (3.0, 0.0, 0.0))
    rigs.add_bones(ob, [(1, 1, 5), (1, 1, 6)], prefix="Nail", parent="Bone.4")
    rigs.add_chain(ob, "Nail.0", finger, chain_count=1, solver="NEWTON", name="Finger")
    chains = {index: chain_spec(chain) for index, chain in enumerate(ob.chain_ik.chains)}
    recorder = Recorder(bpy.context.scene, ob, chains)
    for frame in range(1, 7):
        bpy.context.scene.frame_set(frame)
        recorder.note()
    notes, driven = recorder.notes(), recorder.driven[0]
    modes = np.zeros(len(recorder.bones), dtype=np.int64)
    hung = HungBones(recorder.skeleton, recorder.bones, modes, notes)
    noted, frames = hung.matrices.copy(), hung.framed(driven)
    local = np.tile(rotation.quaternion_from_vector(np.array((0.1, 0.2, 0.3))), (6, 5, 1))
    poses = frames.posed(rotation.matrix_from_quaternion(local))
    hung.move(driven, poses.matrices, np.arange(6) == TURNED)
    assert hung.carry(int(recorder.driven[1].bones[0]))
    stays = np.arange(6) != TURNED
    assert np.array_equal(hung.matrices[stays], noted[stays])
    moved = np.abs(hung.matrices - noted)[TURNED].max(axis=(1, 2))
    assert (moved[hung.rows(driven.bones)] > 1e-2).all()
