"""Starts that stay compiled are made anew once parents turn or move, or slides differ."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.rig.live import live
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.warm_rigs import JOINTS

ABOUT_THE_ROOT = {"rotation_quaternion": (0.9, 0.3, -0.2, 0.25)}
"""The limb begins where the bone above it does."""
ALONG = {"location": (0.2, -0.1, 0.15)}


@pytest.mark.parametrize("solver", ["NEWTON", "FABRIK"])
@pytest.mark.parametrize("limited", [False, True], ids=["free", "limited"])
def test_a_limb_of_uneven_bones_follows_as_anew_where_its_parent_turns_or_moves(solver, limited):
    ob = rigs.make_armature()
    rigs.add_bones(ob, ((0, 0, 0), (-0.5, 0, 0)), prefix="Above")
    rigs.add_bones(ob, JOINTS, parent="Above.0")
    ob.pose.bones["Bone.1"].scale = (1.2, 0.9, 1.1)
    ob.pose.bones["Bone.1"].use_ik_limit_x = limited
    rigs.turn_bones(ob)
    target = rigs.make_empty("Target", (0.6, 0.4, 0.9))
    rigs.add_chain(ob, "Bone.2", target, chain_count=3, solver=solver)
    rigs.updated()
    for changes in (ABOUT_THE_ROOT, ALONG, ABOUT_THE_ROOT | ALONG):
        above = ob.pose.bones["Above.0"]
        former = {name: getattr(above, name).copy() for name in changes}
        for values in (changes, former):
            for name, value in values.items():
                setattr(above, name, value)
            rigs.updated()
            warm = rigs.pose(ob)
            live.memory.clear()
            ob.update_tag()
            rigs.updated()
            np.testing.assert_allclose(rigs.pose(ob), warm, atol=1e-6)
            target.location.x += 0.03
            rigs.updated()


def test_a_chain_starts_from_the_slides_that_stand_there_though_its_bones_never_turn():
    """Two bones slide along one line: how they share the way hangs on where they were."""
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)], is_connected=False)
    for name, home in (("Bone.1", 0.3), ("Bone.2", 0.1)):
        ob.pose.bones[name].location.y = home
    target = rigs.make_empty("Target", (0, 0, 3.4))
    chain = rigs.add_chain(ob, "Bone.2", target, chain_count=3, start_from="CURRENT")
    give(chain, "Bone.0", "FIXED")
    for name, most in (("Bone.1", 0.1), ("Bone.2", 0.5)):
        give(chain, name, "FIXED", use_slide=True, slide_min=-0.5, slide_max=most)
    rigs.updated()
    shares = []
    for up in (3.4, 3.7, 3.4):
        target.location.z = up
        rigs.updated()
        rigs.assert_reaches(ob, "Bone.2", target)
        shares.append([ob.pose.bones[name].location.y for name in ("Bone.1", "Bone.2")])
    # The first one has come to the end of its range, so the second one has gone farther.
    np.testing.assert_allclose(shares, [(0.3, 0.1), (0.4, 0.3), (0.25, 0.15)], atol=1e-4)
