"""One Blender session that installs the zip, uses the extension and disables it.

test_package.py starts it in a new process, with the zip as the last argument. It prints MARK and
its results as JSON in one line.
"""

import json
import logging
import sys
from pathlib import Path

import bpy
import numpy as np

# Blender does not add the checkout to the path. The application does not add this folder either.
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from scripts.common.blender_process import run
from tests.blender.live.traces import find_added, has_translations, list_traces
from tests.blender.setups import rigs

MARK = "CHAIN_IK_SESSION "
MODULE = "bl_ext.user_default.chain_ik"
PLACE = (0.6, 0.3, 1.1)


def distance(ob: bpy.types.Object, target: bpy.types.Object) -> float:
    return float(np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target)))


def use_chain() -> dict[str, object]:
    """Make a chain as a script does, bake a moving target, and return distances and other facts."""
    ob, target = rigs.make_arm(PLACE, solver="TWO_BONE")
    chain = ob.chain_ik.chains[0]
    facts = {"distance": distance(ob, target), "status": str(chain.status)}
    rigs.key(target, "location", {1: PLACE, 10: (-0.8, *PLACE[1:])})
    bpy.ops.pose.chain_ik_bake(which="ALL", frame_start=1, frame_end=10, mute=True)
    distances = []
    for _ in rigs.each_frame(range(1, 11)):
        distances.append(distance(ob, target))
    facts |= {"baked_distance": max(distances), "is_muted": chain.mute}
    bpy.ops.pose.chain_ik_creature_load(creature="SNAKE")
    return {**facts, "creature": json.loads(chain.force.creature)["name"]}


def use_preferences() -> dict[str, object]:
    """Change the preferences, add a chain with the operator, and compare solvers on it."""
    user = bpy.context.preferences.addons[MODULE].preferences
    facts: dict[str, object] = {"usual_solver": str(user.solver), "usual_log": str(user.log_level)}
    user.solver_of_two, user.pole, user.control, user.log_level = "CCD", "NEVER", "EMPTY", "DEBUG"
    ob = rigs.make_rig(name="Other")
    bpy.ops.pose.chain_ik_add(tip="Bone.1")
    chain = ob.chain_ik.chains[0]
    added = {"solver": chain.solver, "pole": chain.pole_target, "bone": chain.subtarget}
    bpy.ops.pose.chain_ik_compare()
    rows = bpy.context.window_manager.chain_ik.solvers
    facts["compared"] = {row.name: row.residual for row in rows}
    logger = logging.getLogger(MODULE)
    return {**facts, "added": added, "log": logger.level, "writes": len(logger.handlers)}


def main(zip_path: str) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    before = list_traces()
    bpy.ops.extensions.package_install_files(
        repo="user_default", filepath=zip_path, enable_on_install=True
    )
    facts: dict[str, object] = {
        "enabled": MODULE in bpy.context.preferences.addons,
        "user_folder": bpy.utils.resource_path("USER"),
    }
    facts.update(use_chain())
    facts.update(use_preferences())
    in_use = list_traces()
    facts["kinds_in_use"] = [kind for kind in before if in_use[kind] != before[kind]]
    bpy.ops.preferences.addon_disable(module=MODULE)
    facts["writes_after"] = len(logging.getLogger(MODULE).handlers)
    facts["left_behind"] = find_added(before, list_traces())
    facts["left_translations"] = has_translations(MODULE)
    print(MARK + json.dumps(facts))


if __name__ == "__main__":
    run(main, sys.argv[-1])
