"""The sidebar shows the settings that the chosen solver uses, and those are the ones that count."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.interface.drawn import draw, make_active_arm, names
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects

ALWAYS = {"use_live", "bone", "chain_count", "target", "influence", "use_tail", "solver"}
ROOTED = ALWAYS | {
    "use_rotation",
    "rotation_bone",
    "orient_weight",
    "pole_mode",
    "use_twist_spread",
    "pole_target",
    "pole_angle",
    "use_flip_bend",
    "negative_scale",
    "use_limits",
    "soft_distance",
    "use_stretch",
    "use_keep_volume",
    "start_from",
    "planted",
    "space",
    "pole_space",
}
ITERATED = ROOTED | {"iterations", "tolerance"}
FORCES = {
    *("stiffness_root", "stiffness_tip", "comfort_root", "comfort_tip", "mass", "gravity"),
    *("force_mode", "force_gain", "use_gradual", "ease", "fastest"),
}
SHOWN = {
    "TWO_BONE": ROOTED,
    "FABRIK": ITERATED | {"use_finish"},
    "CCD": ITERATED | {"use_finish"},
    "NEWTON": ITERATED,
    "FORCE": ITERATED | FORCES,
    "FOLLOW": ALWAYS | {"follow_lead", "use_anchor", "max_bend", "use_limits"},
}
# A value of each that is not the default.
OTHER_VALUES = {
    "pole_mode": "FOLLOW",
    "pole_angle": 1.0,
    "use_flip_bend": True,
    "negative_scale": "KEEP",
    "use_rotation": True,
    "use_limits": False,
    "soft_distance": 0.3,
    "use_stretch": True,
    "start_from": "REST",
    "iterations": 2,
    "tolerance": 0.3,
    "use_finish": False,
    "follow_lead": "ROOT",
    "use_anchor": True,
    "max_bend": 0.2,
}


def test_every_solver_has_its_settings():
    solvers = bpy.types.Object.bl_rna.properties["chain_ik"].fixed_type.properties["chains"]
    items = solvers.fixed_type.properties["solver"].enum_items
    assert SHOWN.keys() == {item.identifier for item in items}


@pytest.mark.parametrize("solver", SHOWN)
def test_the_settings_that_a_solver_uses_are_shown_and_no_others(solver):
    ob, chain = make_active_arm(solver=solver)
    chain.pole_target = rigs.make_empty("Pole", (0, -2, 1))
    chain.negative_scale = "KEEP"
    select_objects(active=ob)
    drawn = draw()
    # The root is that of the whole body, whatever solves its chains.
    assert names(drawn) - {"root"} == SHOWN[solver]
    assert "joints" in names(drawn, "list")
    assert "pose.chain_ik_joint_add" in names(drawn, "operator")


def posed_twice(solver: str, name: str = "", *, is_limited: bool = False) -> np.ndarray:
    """Return how a limb goes to two targets, with one setting that is not the default."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    joints = ((0, 0, 0), (0.2, -0.5, 1), (0, 0, 2), (0.1, 0.3, 2.5))
    count = 2 if solver == "TWO_BONE" else 3
    ob = rigs.make_rig(joints[: count + 1])
    ob.scale.x = -1.0
    rigs.turn_bones(ob)
    for bone in ob.pose.bones:
        bone.use_ik_limit_x = bone.use_ik_limit_z = is_limited
        bone.ik_max_x = bone.ik_max_z = 0.2
        bone.ik_stretch = 0.5
    target, pole = rigs.make_empty(), rigs.make_empty("Pole", (2, -2, 1))
    target.rotation_euler = (0.4, 0.5, 0.6)
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", target, solver=solver, pole_angle=0.3)
    chain.pole_target = pole
    if name == "joints":
        joint = chain.joints.add()
        joint.bone, joint.kind = "Bone.1", "FIXED"
    elif name:
        setattr(chain, name, OTHER_VALUES[name])
    found = []
    for place in ((1.4, 0.9, 1.8), (1.7, 1.2, 2.0)):
        target.location = place
        found.append(rigs.pose(ob, rigs.updated()))
    return np.array(found)


def most_changed(solver: str, name: str) -> float:
    is_limited = name == "use_limits"
    without = posed_twice(solver, is_limited=is_limited)
    return np.abs(posed_twice(solver, name, is_limited=is_limited) - without).max()


@pytest.mark.parametrize("solver", SHOWN)
def test_what_is_not_shown_changes_nothing(solver):
    hidden = OTHER_VALUES.keys() - SHOWN[solver]
    changes = {name: most_changed(solver, name) for name in hidden}
    assert max(changes.values()) < 1e-6, changes


# Acceleration changes how soon FABRIK is there, not where that is.
@pytest.mark.parametrize("name", sorted({*OTHER_VALUES, "joints"} - {"use_finish"}))
def test_what_is_shown_changes_something(name):
    solver = "FABRIK" if name in {*SHOWN["FABRIK"], "joints"} else "FOLLOW"
    assert most_changed(solver, name) > 1e-4
