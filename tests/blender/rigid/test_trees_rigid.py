"""Trees of rigid bones come to the same pose in the spaces of root bones and of armatures."""

from __future__ import annotations

import numpy as np
import pytest

from tests.blender.rigid.rigid_trees import in_armatures, trees
from tests.blender.setups import jointed_rigs, rigs, scaled_rigs, tree_rigs, warm_rigs
from tests.helpers import make_rng

# Of matrices: what float32 leaves of trees whose targets can be reached.
SAME = 2e-5
SCALES = ((1.0, 1.0, 1.0), (1.6, 1.6, 1.6), (0.7, 1.4, -1.1), (-0.8, -0.8, -0.8))
SETTINGS = {
    "plain": {"start_from": "REST", "weight": 0.4},
    "turned tips": {"solver": "FABRIK", "use_rotation": True, "orient_weight": 0.5},
    "limited": {},
}


def make_tree(number: int, rng: np.random.Generator, **settings: object) -> tree_rigs.Rig:
    """Return a tree whose root bone hangs under one that turns and scales, in a sheared object."""
    make = tree_rigs.make_body if number % 2 else tree_rigs.make_y
    rig = make(f"Tree {number}")
    ob, root = rig.ob, rig.ob.data.bones[0].name
    rigs.add_bones(ob, ((0.1, 0, -0.5), (0, 0.2, 0)), prefix="Above")
    rigs.enter(ob, "EDIT")
    ob.data.edit_bones[root].parent = ob.data.edit_bones["Above.0"]
    rigs.enter(ob, "OBJECT")
    for bone in ob.pose.bones:
        bone.location, bone.scale = rng.uniform(-0.1, 0.1, 3), [rng.uniform(0.8, 1.2)] * 3
    rigs.turn_bones(ob, seed=number, angle=0.2)
    ob.rotation_euler, ob.scale = rng.uniform(-3.0, 3.0, 3), SCALES[number]
    turn = scaled_rigs.random_quaternion(rng, 3.0)
    ob.parent = scaled_rigs.sheared_parent((1.2, 0.8, 1.0), turn, f"Shear {number}")
    rigs.updated()
    # All bones up to the root, without the one above it.
    count = len(ob.data.bones[rig.tips[min(rig.tips)]].parent_recursive)
    rig.follow(chain_count=count, **settings)
    for chain in ob.chain_ik.chains:
        nearer = 0.85 * np.array(chain.target.location) + 0.15 * rigs.head(ob, root)
        chain.target.location = nearer + rng.uniform(-0.03, 0.03, 3)
    return rig


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("kind", SETTINGS)
def test_rigid_trees_move_in_any_space_alike(kind, monkeypatch):
    rng = make_rng(5)
    crowd = [make_tree(number, rng, **SETTINGS[kind]) for number in range(len(SCALES))]
    for bone in (bone for rig in crowd if kind == "limited" for bone in rig.ob.pose.bones):
        bone.use_ik_limit_x = bone.use_ik_limit_z = True
        bone.ik_min_x = bone.ik_min_z = -1.2
        bone.ik_max_x, bone.ik_max_z, bone.ik_stiffness_x = 1.3, 1.1, 0.3
    for rig in crowd if kind == "limited" else ():
        # Counts from the parent, on a bone that all chains share.
        trunk = "Spine.1" if "Spine.1" in rig.ob.pose.bones else "Trunk.1"
        first = rig.ob.chain_ik.chains[0]
        jointed_rigs.give(first, trunk, "CONE", cone=70, relative_to="PARENT")
    rigs.updated()
    assert [(len(batch.driven), batch.is_even) for batch in trees()] == [(2, True)] * 2
    shown = [rigs.pose(rig.ob) for rig in crowd]
    in_armatures(monkeypatch)
    warm_rigs.forget()
    rigs.updated()
    assert [(len(batch.driven), batch.is_even) for batch in trees()] == [(2, False)] * 2
    for rig, pose in zip(crowd, shown, strict=True):
        assert all(chain.status.startswith("Reached") for chain in rig.ob.chain_ik.chains)
        rigs.assert_same_pose(rig.ob, pose, SAME)


def test_a_range_from_the_parent_holds_a_bone_that_all_chains_share_and_is_named():
    rig = tree_rigs.make_y()
    rig.follow()
    jointed_rigs.give(rig.chain("Left"), "Trunk.1", "CONE", cone=3, relative_to="PARENT")
    for bone in ("Trunk.0", "Left.0", "Left.1", "Right.0", "Right.1"):
        chain = rig.chain("Right" if "Right" in bone else "Left")
        jointed_rigs.give(chain, bone, "FIXED")
    for name in rig.tips:
        rig.target(name).location.x += 0.5
    rigs.updated()
    bend = jointed_rigs.bend_from_parent(rig.ob, "Trunk.1")
    assert np.degrees(bend) == pytest.approx(3.0, abs=1e-3)
    assert "Held back by the limits of Trunk.1" in rig.chain("Left").status
