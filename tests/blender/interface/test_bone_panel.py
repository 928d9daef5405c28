"""The tab of a bone: the joints that it has in the chains that drive it."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.interface.drawn import draw_panel, names
from tests.blender.interface.test_panels import FIELDS
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects

SLIDES = {"use_slide", "slide_min", "slide_max"}


@pytest.fixture
def arm() -> bpy.types.Object:
    """Return an active armature of three bones in pose mode, with a chain on the first two."""
    ob = rigs.make_rig(((0, 0, 0), (0.2, -0.5, 1), (0, 0, 2), (0.1, 0.3, 2.5)))
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(), solver="NEWTON")
    select_objects(active=ob)
    rigs.enter(ob, "POSE")
    rigs.updated()
    return ob


def shown(ob: bpy.types.Object, bone: str) -> list:
    """Return what the tab of a bone shows."""
    ob.data.bones.active = ob.data.bones[bone]
    with bpy.context.temp_override(object=ob, active_object=ob, bone=ob.data.bones[bone]):
        return draw_panel(bpy.types.BONE_PT_chain_ik)


def test_a_bone_that_no_chain_drives_has_no_panel_and_one_without_a_joint_offers_one(arm):
    drawn = shown(arm, "Bone.0")
    labels = [item.name for item in drawn if item.kind == "label"]
    assert labels == ["Chain", "Uses the locks and limits above"]
    assert names(drawn, "operator") == {"pose.chain_ik_joint_add"}
    assert not names(drawn)
    assert not shown(arm, "Bone.2")
    arm.chain_ik.chains.remove(0)
    assert not shown(arm, "Bone.0")
    # Nor has a pinned bone of another armature one.
    other = rigs.make_rig(name="Other")
    with bpy.context.temp_override(object=arm, active_object=other, bone=arm.data.bones["Bone.0"]):
        assert not draw_panel(bpy.types.BONE_PT_chain_ik)


def test_the_joint_of_a_bone_has_the_fields_that_count_and_is_shown_with_the_one_it_holds(arm):
    chain = arm.chain_ik.chains[0]
    joint = chain.joints.add()
    joint.bone = "Bone.0"
    for joint.kind, fields in FIELDS.items():
        drawn = shown(arm, "Bone.0")
        assert names(drawn) == {"kind", "relative_to"} | SLIDES | fields
    assert not names(drawn, "operator")
    assert not names(shown(arm, "Bone.1"))
    joint.kind, joint.relative_to = "BALL", "CHILD"
    drawn = shown(arm, "Bone.1")
    assert "Held by the joint of Bone.0" in names(drawn, "label")
    assert "min_x" in names(drawn)
    assert names(drawn, "operator") == {"pose.chain_ik_joint_add"}
    active = {item.name: item.is_active for item in shown(arm, "Bone.0")}
    assert (active["kind"], active["use_limit_x"], active["min_x"]) == (True, True, False)
    chain.use_limits = False
    drawn = shown(arm, "Bone.0")
    assert not any(item.is_active for item in drawn if item.kind == "prop")
    assert "Limits are off in this chain" in names(drawn, "label")
    chain.use_limits, chain.mute = True, True
    assert not any(item.is_active for item in shown(arm, "Bone.0"))
    chain.solver = "FOLLOW"
    found = names(shown(arm, "Bone.0"))
    assert "min_x" in found
    assert found.isdisjoint(SLIDES | {"stiffness_x"})


def test_a_bone_of_two_chains_shows_the_active_one_first_and_each_button_adds_to_its_own(arm):
    rigs.add_chain(arm, "Bone.2", rigs.make_empty("Far"), solver="NEWTON", name="Whole")
    for arm.chain_ik.active_index, expected in ((1, ["Whole", "Chain"]), (0, ["Chain", "Whole"])):
        labels = [item.name for item in shown(arm, "Bone.0") if item.kind == "label"]
        assert [text for text in labels if text in expected] == expected
    arm.data.bones.active = arm.data.bones["Bone.0"]
    bone = arm.pose.bones["Bone.0"]
    bone.use_ik_limit_x, bone.ik_max_x = True, 0.5
    chains = arm.chain_ik.chains
    with pytest.raises(RuntimeError, match="There is no chain 7: choose one of the list"):
        bpy.ops.pose.chain_ik_joint_add(index=7)
    assert not chains[0].joints
    for index, counts in ((1, [0, 1]), (-1, [1, 1])):
        assert bpy.ops.pose.chain_ik_joint_add(index=index) == {"FINISHED"}
        assert [len(chain.joints) for chain in chains] == counts
        (joint,) = chains[max(index, 0)].joints
        assert (joint.bone, joint.use_limit_x, joint.max_x) == ("Bone.0", True, 0.5)
