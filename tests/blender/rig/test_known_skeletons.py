"""Bones that operators and panels ask for: the same record while they stay, else a new one."""

from collections.abc import Callable

import bpy
import pytest

from blender_ik_addon.rig.planning import known_skeletons
from blender_ik_addon.rig.planning.known_skeletons import MOST_KNOWN, skeleton_of
from tests.blender.setups import rigs


def move(ob: bpy.types.Object) -> None:
    with rigs.editing(ob) as bones:
        bones["Bone.1"].tail.z += 0.5


CHANGES: dict[str, Callable[[bpy.types.Object], object]] = {
    "renamed": lambda ob: setattr(ob.data.bones["Bone.1"], "name", "Other"),
    "moved": move,
    "inherits otherwise": lambda ob: setattr(ob.data.bones["Bone.1"], "inherit_scale", "NONE"),
    "removed": lambda ob: rigs.delete_bones(ob, "Bone.1"),
}


@pytest.mark.parametrize("how", CHANGES)
def test_bones_are_compiled_anew_as_soon_as_one_of_them_has_changed(how):
    ob = rigs.make_rig()
    before = skeleton_of(ob)
    assert skeleton_of(ob) is before
    CHANGES[how](ob)
    after = skeleton_of(ob)
    assert after is not before
    assert after.fingerprint != before.fingerprint
    assert after.names == tuple(ob.data.bones.keys())
    assert skeleton_of(ob) is after


def test_objects_with_one_armature_share_what_is_known_and_no_more_is_kept_than_said():
    ob = rigs.make_rig()
    other = bpy.data.objects.new("Other", ob.data)
    assert skeleton_of(other) is skeleton_of(ob)
    for _ in range(MOST_KNOWN):
        skeleton_of(bpy.data.objects.new("Empty", bpy.data.armatures.new("Empty")))
    assert len(known_skeletons._known) <= MOST_KNOWN
