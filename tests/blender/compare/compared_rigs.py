"""Limbs to compare solvers on, and the rows of the last comparison."""

import re
from collections.abc import Generator
from typing import Any

import bpy
import numpy as np

from blender_ik_addon.properties.compared.compare_solvers import compare_solvers
from blender_ik_addon.properties.compared.comparison_results import mark_of
from tests.blender.keying.converted_rigs import Limb
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects

compare = bpy.ops.pose.chain_ik_compare
use = bpy.ops.pose.chain_ik_compare_use
JOINT_TOLERANCE = 2e-5
"""Tolerance of a joint, as a share of the limb's length."""
SETTINGS = {
    "Two-Bone": ("TWO_BONE", True),
    "Newton": ("NEWTON", True),
    "FABRIK and Newton": ("FABRIK", True),
    "FABRIK": ("FABRIK", False),
    "CCD and Newton": ("CCD", True),
    "CCD": ("CCD", False),
    "Force": ("FORCE", True),
    "Follow": ("FOLLOW", True),
}
BUILT_IN = "Blender's constraint"


def rows() -> dict[str, bpy.types.PropertyGroup]:
    return {row.name: row for row in bpy.context.window_manager.chain_ik.solvers}


def compare_all(ob: bpy.types.Object) -> dict[str, bpy.types.PropertyGroup]:
    select_objects(active=ob)
    press(compare)
    results = rows()
    assert [*results] == [*SETTINGS, BUILT_IN]
    assert [row.message for row in results.values()] == [row.status for row in results.values()]
    # Panels translate a status with a number or a name by its values.
    with_values = [row.message for row in results.values() if re.search(r"\d|'", row.status)]
    assert all(message.values for message in with_values)
    return results


def in_steps(chain: bpy.types.PropertyGroup) -> Generator[int, None, Any]:
    """Return the steps of a comparison, which a window carries out one by one."""
    select_objects(active=chain.id_data)
    return compare_solvers(mark_of(chain), bpy.context.evaluated_depsgraph_get)


def joints_of(row: bpy.types.PropertyGroup) -> np.ndarray:
    return np.array([point.co for point in row.joints], dtype=np.float64)


def limb(kind: str) -> Limb:
    rig = Limb(7, count=2 if kind == "arm" else 5, reach=(0.5, 0.8))
    rig.add_chain(solver="NEWTON", use_rotation=kind == "turned")
    if kind == "limited":
        for name in rig.bones:
            bone = rig.ob.pose.bones[name]
            bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, -0.2, 0.3
            bone.ik_stiffness_z = 0.3
    if kind == "scaled":
        rig.ob.pose.bones["Root.0"].scale = (1.0, 1.4, 0.7)
        rig.ob.scale = (-1.0, 1.3, 0.8)
    if kind == "constrained parent":
        constraint = rig.ob.pose.bones["Root.0"].constraints.new("TRANSFORM")
        constraint.target, constraint.map_to = rig.pole, "ROTATION"
        constraint.to_min_x_rot = constraint.to_max_x_rot = 0.7
    if kind == "far":
        rig.target.location *= 9.0
    if kind == "rest":
        rig.chain.start_from = "REST"
    if kind == "current":
        rig.chain.start_from, rig.chain.mute = "CURRENT", True
    rigs.updated()
    return rig
