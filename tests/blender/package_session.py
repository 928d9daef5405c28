"""One Blender session of a person who installs the zip, uses it and switches it off.

Started by test_package.py in a process of its own, with the zip as the last argument. Prints one
line of JSON behind MARK.
"""

import gc
import json
import logging
import os
import shutil
import sys
import traceback
import types

import bpy
from mathutils import Vector

MARK = "CHAIN_IK_SESSION "
MODULE = "bl_ext.user_default.chain_ik"
TARGET_POSITION = Vector((0.6, 0.3, 1.1))


def make_armature() -> bpy.types.Object:
    """Return an armature object with two bones of length 1, a little bent."""
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


def use_chain() -> dict[str, object]:
    """Make a chain as in the sidebar and return how far its tip is from the target."""
    armature_object = make_armature()
    target = bpy.data.objects.new("Target", None)
    target.location = TARGET_POSITION
    bpy.context.scene.collection.objects.link(target)
    chain = armature_object.chain_ik.chains.add()
    chain.bone, chain.target, chain.solver = "Lower", target, "TWO_BONE"
    bpy.context.view_layer.update()
    tip = armature_object.matrix_world @ armature_object.pose.bones["Lower"].tail
    seen = {"distance": (tip - TARGET_POSITION).length, "status": str(chain.status)}
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


def list_traces() -> dict[str, list[str]]:
    """Return everything that an add-on can hang into Blender, as names."""
    handlers = {
        f"{name}: {function.__module__}.{function.__qualname__}"
        for name in dir(bpy.app.handlers)
        if isinstance(functions := getattr(bpy.app.handlers, name), list)
        for function in functions
    }
    blender_types = {name: getattr(bpy.types, name) for name in dir(bpy.types)}
    # Timers cannot be listed: ask for each function of ours that is still alive.
    timers = {
        function.__qualname__
        for function in gc.get_objects()
        if isinstance(function, types.FunctionType)
        and str(function.__module__).startswith(MODULE)
        and bpy.app.timers.is_registered(function)
    }
    drawn_by = {
        f"{name}: {function.__qualname__}"
        for name, blender_type in blender_types.items()
        for function in getattr(getattr(blender_type, "draw", None), "_draw_funcs", ())
        # A menu that was ever appended to lists Blender's own function too.
        if function.__module__.startswith(MODULE)
    }
    return {
        "handlers": sorted(handlers),
        "classes": sorted(blender_types),
        "properties": sorted(name for name, t in blender_types.items() if hasattr(t, "chain_ik")),
        "timers": sorted(timers),
        "menus": sorted(drawn_by),
    }


def main(zip_path: str) -> None:
    """Install, use, switch off; print what was seen."""
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
    after = list_traces()
    seen["writes_after"] = len(logging.getLogger(MODULE).handlers)
    seen["left_behind"] = {
        kind: left for kind in before if (left := sorted(set(after[kind]) - set(before[kind])))
    }
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
