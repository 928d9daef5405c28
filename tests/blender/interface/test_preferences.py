"""The preferences: defaults of the classes where nobody has any, a person's own where installed."""

import logging
from itertools import combinations

import bpy
import numpy as np
import pytest

import blender_ik_addon
from blender_ik_addon.preferences.addon import preferences
from blender_ik_addon.preferences.colours import colours, ghost_colours, width_of
from tests.blender.operators.test_operator_list import make_limbs
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_bones

PACKAGE = blender_ik_addon.__name__
add = bpy.ops.pose.chain_ik_add
WIDE = {"line_width": 3.0, "ghost_width": 4.0, "joint_size": 9.0}


@pytest.fixture
def own() -> bpy.types.AddonPreferences:
    """Preferences of one's own, as an enabled add-on has them; gone afterwards."""
    entry = bpy.context.preferences.addons.new()
    entry.module = PACKAGE
    yield entry.preferences
    bpy.context.preferences.addons.remove(entry)
    logging.getLogger(PACKAGE).setLevel("WARNING")


def settings_of(chain: bpy.types.PropertyGroup) -> dict[str, object]:
    names = ("solver", "start_from", "use_limits", "iterations")
    return {name: getattr(chain, name) for name in names} | {
        "tolerance": pytest.approx(chain.tolerance),
        "has_pole": chain.pole_target is not None,
        "is_bone": bool(chain.subtarget),
    }


def added(ob: bpy.types.Object, *bones: str) -> dict[str, object]:
    select_bones(ob, bones)
    press(add)
    return settings_of(ob.chain_ik.chains[-1])


USUAL = {
    "start_from": "KEYED",
    "use_limits": True,
    "iterations": 500,
    "tolerance": 1e-5,
    "is_bone": True,
}


def test_without_preferences_new_chains_are_what_they_always_were():
    assert PACKAGE not in bpy.context.preferences.addons
    assert not hasattr(preferences(), "no such thing")
    ob = make_limbs()
    arm, tail = added(ob, "Arm.0", "Arm.1"), added(ob, "Tail.0", "Tail.1", "Tail.2", "Tail.3")
    assert arm == {**USUAL, "solver": "TWO_BONE", "has_pole": True}
    assert tail == {**USUAL, "solver": "NEWTON", "has_pole": False}
    for chain in ob.chain_ik.chains:
        # What is set is copied with every evaluated pose.
        assert not chain.is_property_set("tolerance")
        assert not chain.is_property_set("start_from")


def test_new_chains_take_what_a_person_prefers(own):
    own.solver_of_two, own.solver, own.start_from = "NEWTON", "CCD", "REST"
    own.use_limits, own.tolerance, own.iterations = False, 0.01, 40
    own.pole, own.control = "ALWAYS", "EMPTY"
    wanted = {"start_from": "REST", "use_limits": False, "iterations": 40, "tolerance": 0.01}
    wanted |= {"is_bone": False, "has_pole": True}
    ob = make_limbs()
    assert added(ob, "Arm.0", "Arm.1") == {**wanted, "solver": "NEWTON"}
    assert added(ob, "Tail.0", "Tail.1", "Tail.2", "Tail.3") == {**wanted, "solver": "CCD"}
    select_bones(ob, ["Leg.0", "Leg.1"])
    # What an operator is told comes before that.
    press(add, solver="FABRIK", control="BONE", use_pole=False)
    told = settings_of(ob.chain_ik.chains[-1])
    assert (told["solver"], told["is_bone"], told["has_pole"]) == ("FABRIK", True, False)
    own.pole = "NEVER"
    assert not added(ob, "Leg.1", "Leg.2")["has_pole"]
    # Chains that share bones get a solver that can share them.
    rigs.add_bones(ob, np.add(rigs.zigzag(2, seed=8), (6, 0, 0)), prefix="Fork", parent="Tail.1")
    ob.chain_ik.chains["Tail.3"].solver = "FABRIK"
    assert added(ob, "Tail.0", "Tail.1", "Fork.0", "Fork.1")["solver"] == "NEWTON"
    # So do limbs of a character, and scripts that use the list get what Blender gives.
    ob = make_limbs()
    select_bones(ob, ["Arm.0"])
    press(bpy.ops.pose.chain_ik_setup)
    found = [settings_of(chain) for chain in ob.chain_ik.chains]
    assert {told["solver"] for told in found} == {"NEWTON", "CCD"}
    assert not any(told["is_bone"] or told["tolerance"] != 0.01 for told in found)
    chain = ob.chain_ik.chains.add()
    assert (chain.solver, chain.tolerance) == ("NEWTON", pytest.approx(1e-5))


def test_colours_are_those_of_the_theme_until_a_person_has_their_own_and_widths_grow(own):
    context = bpy.context
    interface = context.preferences.themes[0].user_interface
    found = colours(context)
    assert len({found[name] for name in ("reached", "held", "missed", "limit", "pole")}) == 5
    known = tuple(interface.axis_y)
    interface.axis_y = (0.1, 0.2, 0.3)
    assert colours(context)["reached"] == pytest.approx((0.1, 0.2, 0.3), abs=0.01)
    interface.axis_y = known
    own.use_theme_colours = False
    for name in found:
        setattr(own, f"{name}_colour", (0.5, 0.25, 0.125))
        assert colours(context)[name] == (0.5, 0.25, 0.125)
    # Those of ghosts differ, and widths grow with the interface, which is zero in background.
    gaps = combinations(ghost_colours(context, 9), 2)
    assert min(np.abs(np.subtract(a, b)).max() for a, b in gaps) > 0.1
    scale = context.preferences.system.ui_scale or 1.0
    rigs.change(own, **WIDE)
    found = [width_of(context, name) for name in WIDE]
    assert found == pytest.approx([value * scale for value in WIDE.values()])


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name.startswith(PACKAGE)]


def test_refusals_and_times_are_logged_as_far_as_they_are_asked_for(own, caplog):
    ob, target = rigs.make_arm()
    target.location.x += 0.1
    bpy.context.view_layer.update()
    assert messages(caplog) == []
    own.log_level = "INFO"
    rigs.change(ob.chain_ik.chains[0], bone="Gone")
    expected = "'Rig', chain 'Chain': Bone 'Gone' no longer exists: choose another tip."
    assert messages(caplog) == [expected]
    rigs.tagged(ob)
    assert messages(caplog) == [expected], "told once"
    caplog.clear()
    own.log_level = "DEBUG"
    rigs.change(ob.chain_ik.chains[0], bone="Bone.1")
    (line,) = messages(caplog)
    assert line.startswith("'Scene', frame 1: ")
    assert line.endswith(" ms")
