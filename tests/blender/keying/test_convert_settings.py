"""What converting keeps, what it tells, and what it leaves alone."""

import bpy
import numpy as np
import pytest

from tests.blender.keying.converted_rigs import (
    CLOSE,
    Limb,
    ik_constraints,
    settings_of,
    to_chains,
    to_constraints,
)
from tests.blender.setups import rigs

ROUND_TRIPS: tuple[dict[str, object], ...] = (
    {"name": 'Arm "left"', "pole_angle": 0.0},
    {"mute": True, "chain_count": 0},
    {"influence": 0.375, "use_tail": False},
    {"use_rotation": True, "orient_weight": 0.25, "weight": 0.5, "iterations": 20},
    {"use_rotation": True, "orient_weight": 0.01, "weight": 0.01},
    {"pole_angle": np.pi},
)


@pytest.mark.parametrize("use_pole", [False, True])
@pytest.mark.parametrize("settings", ROUND_TRIPS, ids=str)
def test_there_and_back_a_constraint_has_the_same_settings_again(settings, use_pole, capfd):
    limb = Limb(5, 2, use_pole=use_pole)
    turned = rigs.rotations(limb.ob)
    limb.constrain(**settings)
    # Without its tip a constraint turns the parent: the bone that holds it is then another one.
    before, joints = settings_of(limb.constraint), limb.joints()
    to_chains(limb.ob)
    assert "use_rotation" in settings or "use_tail" in settings or limb.apart(joints) <= CLOSE
    assert not ik_constraints(limb.ob)
    assert limb.chain.name == before["name"]
    to_constraints(limb.ob)
    after = settings_of(limb.constraint)
    if settings.get("pole_angle") == np.pi:
        # A half turn one way is a half turn the other way.
        after["pole_angle"] = before["pole_angle"] = abs(after["pole_angle"])
    assert after == before
    assert limb.apart(joints) <= CLOSE
    if use_pole:
        # Below the constraint bones are turned as they were.
        assert rigs.rotations(limb.ob) == turned
        assert ("Warning" in capfd.readouterr().out) == ("use_rotation" in settings)
    assert not limb.ob.chain_ik.chains


def test_what_has_no_counterpart_is_told_by_name(capfd):
    limb = Limb(3)
    limb.constrain(name="Arm", reference_axis="TARGET", lock_location_x=False)
    to_chains(limb.ob)
    told = "Warning: Chain 'Arm': a chain has no Axis Reference, no Lock X Pos; they were dropped."
    assert told in capfd.readouterr().out
    for settings, told in (
        ({"soft_distance": 0.1}, "no Soft Distance; it was dropped."),
        (
            {"solver": "FABRIK", "start_from": "REST", "tolerance": 0.01, "negative_scale": "KEEP"},
            "no Solver, no Tolerance, no Start From, no Negative Scale; they were dropped.",
        ),
        ({"use_stretch": True, "use_keep_volume": True}, "no Keep Volume; it was dropped."),
    ):
        rigs.change(limb.chain, **settings)
        to_constraints(limb.ob)
        assert f"Warning: Chain 'Arm': the constraint has {told}" in capfd.readouterr().out
        to_chains(limb.ob)


def test_while_live_is_off_it_says_that_chains_stand_still(capfd):
    limb = Limb(3)
    limb.constrain()
    bpy.context.scene.chain_ik.use_live = False
    before = limb.joints()
    to_chains(limb.ob)
    told = capfd.readouterr().out
    assert "Live is off, so chains stand still: switch it on." in told
    assert "apart" not in told
    rigs.change(bpy.context.scene.chain_ik, use_live=True)
    assert limb.apart(before) <= 1e-3
