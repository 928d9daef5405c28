"""The sidebar shows the settings that the chosen solver uses, and those are the ones that count."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs

ALWAYS = {"use_live", "bone", "chain_count", "target", "influence", "use_tail", "solver"}
ROOTED = ALWAYS | {
    *("use_rotation", "rotation_bone", "orient_weight", "use_twist_spread", "pole_mode"),
    *("pole_target", "pole_angle", "use_flip_bend", "negative_scale", "use_limits"),
    *("soft_distance", "use_stretch", "use_keep_volume", "start_from", "planted", "space"),
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


def posed_twice(solver: str, *changed: str, is_limited: bool = False) -> np.ndarray:
    """Return how a limb goes to two targets, with some settings that are not the default."""
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
    for name in changed:
        if name == "joints":
            joint = chain.joints.add()
            joint.bone, joint.kind = "Bone.1", "FIXED"
        else:
            setattr(chain, name, OTHER_VALUES[name])
    found = []
    for place in ((1.4, 0.9, 1.8), (1.7, 1.2, 2.0)):
        target.location = place
        found.append(rigs.pose(ob, rigs.updated()))
    return np.array(found)


def most_changed(solver: str, *names: str) -> float:
    is_limited = "use_limits" in names
    without = posed_twice(solver, is_limited=is_limited)
    return np.abs(posed_twice(solver, *names, is_limited=is_limited) - without).max()


@pytest.mark.parametrize("solver", SHOWN)
def test_what_is_not_shown_changes_nothing(solver):
    assert most_changed(solver, *sorted(OTHER_VALUES.keys() - SHOWN[solver])) < 1e-6


# Acceleration changes how soon FABRIK is there, not where that is.
@pytest.mark.parametrize("name", sorted({*OTHER_VALUES, "joints"} - {"use_finish"}))
def test_what_is_shown_changes_something(name):
    solver = "FABRIK" if name in {*SHOWN["FABRIK"], "joints"} else "FOLLOW"
    assert most_changed(solver, name) > 1e-4
