"""Chains added, removed, moved and cleared by scripts, of which Blender tells nobody."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.warm_rigs import OTHER, RIG, assert_followed, chain, follow, named

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow

ARM = ("Rig", "Arm.1", "Arm Target")
ALL_TARGETS = ("Rig Target", "Arm Target", "Other Target")


def make_pair_with_arm(**settings: object) -> None:
    """Make warm rigs; the first has a second limb with a chain of its own, last in the list."""
    warm_rigs.make_pair(**settings)
    rigs.add_bones(named("Rig"), np.add(rigs.ARM, (0.6, 0.4, 0.0)), prefix="Arm")
    rigs.make_empty("Arm Target", (0.9, 0.2, 1.1))
    follow(ARM, chain_count=2)
    nudge("Arm Target")


def nudge(name: str) -> None:
    """Move a target a little: the one thing that Blender is told of."""
    named(name).location.x += 0.05
    bpy.context.view_layer.update()


def add(chains):
    chains.add()
    chains.move(2, 0)


def replace(chains):
    chains.remove(0)
    follow(("Rig", "Bone.2", "Arm Target"))


CHANGES = (
    (lambda chains: chains.remove(0), [ARM], {"Arm.0", "Arm.1"}),
    (lambda chains: chains.move(0, 1), [RIG, ARM], None),
    (lambda chains: chains.clear(), [], set()),
    (lambda chains: setattr(chains[0], "bone", "Missing"), [ARM], None),
    (add, [RIG, ARM], None),
    (replace, [("Rig", "Bone.2", "Arm Target"), ARM], None),
)


@pytest.mark.parametrize("nudged", ["Rig Target", "Other Target"])
@pytest.mark.parametrize(("change", "limbs", "driven"), CHANGES)
def test_lists_changed_by_script_are_used_as_soon_as_anything_moves(change, limbs, driven, nudged):
    make_pair_with_arm()
    change(named("Rig").chain_ik.chains)
    before = rigs.rotations(named("Rig"))
    nudge(nudged)
    assert_followed([*limbs, OTHER], ALL_TARGETS)
    after = rigs.rotations(named("Rig"))
    moved = {name for name in after if after[name] != before[name]}
    assert driven is None or moved <= driven
    assert change is not add or "No tip bone" in chain().status


def test_of_two_chains_on_the_same_bones_the_one_that_is_first_now_drives_them():
    # Others would be one tree.
    make_pair_with_arm(solver="CCD")
    follow(("Rig", "Bone.2", "Arm Target"), name="Second", solver="CCD")
    nudge("Arm Target")
    assert "already belongs" in chain("Rig", 2).status
    named("Rig").chain_ik.chains.move(2, 0)
    nudge("Rig Target")
    named("Arm Target").location = (0.4, 0.2, 0.9)
    assert_followed([("Rig", "Bone.2", "Arm Target"), OTHER], ("Rig Target", "Arm Target"))
    assert "already belongs" in chain("Rig", 1).status
