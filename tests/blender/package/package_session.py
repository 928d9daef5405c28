"""One Blender session of a person who installs the zip, uses it and switches it off.

Started by test_package.py in a process of its own, with the zip as the last argument. Prints one
line of JSON behind MARK.
"""

import json
import logging
import os
import shutil
import sys
import traceback
from pathlib import Path

import bpy
from mathutils import Vector

# Blender puts neither the checkout nor, in the application, this folder on its path.
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.blender.live.traces import has_translations, left_behind, list_traces

MARK = "CHAIN_IK_SESSION "
MODULE = "bl_ext.user_default.chain_ik"
TARGET_POSITION = Vector((0.6, 0.3, 1.1))


def make_armature() -> bpy.types.Object:
    scene = bpy.context.scene
    armature_object = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    scene.collection.objects.link(armature_object)
    bpy.context.view_layer.objects.active = armature_object
    bpy.ops.object.mode_set(mode="EDIT")
    upper = armature_object.data.edit_bones.new("Upper")
    upper.head, upper.tail = (0, 0, 0), (0, 0.1, 1)
    lower = armature_object.data.edit_bones.new("Lower")
    lower.head, lower.tail = upper.tail, (0, 0, 2)
    lower.parent, lower.use_connect = upper, True
    bpy.ops.object.mode_set(mode="OBJECT")
    return armature_object


def distance(armature_object: bpy.types.Object, target: bpy.types.Object) -> float:
    """Return how far the tip is from the target, as Blender has evaluated both."""
    graph = bpy.context.evaluated_depsgraph_get()
    posed = armature_object.evaluated_get(graph)
    tip = posed.matrix_world @ posed.pose.bones["Lower"].tail
    return (tip - target.evaluated_get(graph).matrix_world.translation).length


def bake(armature_object: bpy.types.Object, target: bpy.types.Object) -> float:
    """Bake a moving target, with the chain muted after it; return the greatest distance."""
    for frame, x in ((1, 0.6), (10, -0.8)):
        target.location.x = x
        target.keyframe_insert("location", frame=frame)
    bpy.ops.pose.chain_ik_bake(which="ALL", frame_start=1, frame_end=10, mute=True)
    distances = []
    for frame in range(1, 11):
        bpy.context.scene.frame_set(frame)
        distances.append(distance(armature_object, target))
    return max(distances)


def use_chain() -> dict[str, object]:
    """Make a chain as in the sidebar and return how far its tip is from the target."""
    armature_object = make_armature()
    target = bpy.data.objects.new("Target", None)
    target.location = TARGET_POSITION
    bpy.context.scene.collection.objects.link(target)
    chain = armature_object.chain_ik.chains.add()
    chain.bone, chain.target, chain.solver = "Lower", target, "TWO_BONE"
    bpy.context.view_layer.update()
    seen = {"distance": distance(armature_object, target), "status": str(chain.status)}
    seen["baked_distance"] = bake(armature_object, target)
    seen["is_muted"] = chain.mute
    bpy.ops.pose.chain_ik_creature_load(creature="SNAKE")
    return {**seen, "creature": json.loads(chain.force.creature)["name"]}


def use_preferences() -> dict[str, object]:
    """Prefer something else, add a chain as its button does, and compare solvers on it."""
    own = bpy.context.preferences.addons[MODULE].preferences
    seen: dict[str, object] = {"usual_solver": str(own.solver), "usual_log": str(own.log_level)}
    own.solver_of_two, own.pole, own.control, own.log_level = "CCD", "NEVER", "EMPTY", "DEBUG"
    armature_object = make_armature()
    bpy.ops.pose.chain_ik_add(tip="Lower")
    chain = armature_object.chain_ik.chains[0]
    added = {"solver": chain.solver, "pole": chain.pole_target, "bone": chain.subtarget}
    bpy.ops.pose.chain_ik_compare()
    rows = bpy.context.window_manager.chain_ik.solvers
    seen["compared"] = {row.name: row.residual for row in rows}
    logger = logging.getLogger(MODULE)
    return {**seen, "added": added, "log": logger.level, "writes": len(logger.handlers)}


def main(zip_path: str) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    before = list_traces()
    bpy.ops.extensions.package_install_files(
        repo="user_default", filepath=zip_path, enable_on_install=True
    )
    seen: dict[str, object] = {
        "enabled": MODULE in bpy.context.preferences.addons,
        "user_folder": bpy.utils.resource_path("USER"),
    }
    seen.update(use_chain())
    seen.update(use_preferences())
    in_use = list_traces()
    seen["kinds_in_use"] = [kind for kind in before if in_use[kind] != before[kind]]
    bpy.ops.preferences.addon_disable(module=MODULE)
    seen["writes_after"] = len(logging.getLogger(MODULE).handlers)
    seen["left_behind"] = left_behind(before, list_traces())
    seen["left_translations"] = has_translations(MODULE)
    print(MARK + json.dumps(seen))


if __name__ == "__main__":
    exit_code = 1
    try:
        main(sys.argv[-1])
        exit_code = 0
    finally:
        if exit_code:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        # The 4.2 module would crash at the normal end, see conftest.py.
        shutil.rmtree(bpy.app.tempdir, ignore_errors=True)
        os._exit(exit_code)
