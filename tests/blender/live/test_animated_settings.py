"""Settings that are keyed or driven: playing, scrubbing, renders and bakes show the same poses.

Where the influence is zero, or the chain is muted, bones play their keys, or stand as they are
stored, in whatever order frames are visited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.keyed_limbs import read_by
from tests.blender.setups.renders import render_frames
from tests.blender.setups.selecting import press, select_objects
from tests.helpers import make_rng

FRAMES = range(1, 10)
SAME = 1e-6
"""A share of the length, which is below four in all rigs here."""
LENGTH = 4.0
MATTERS = 0.05
"""How much farther something of a pose is without the animation, at least at one frame."""
OWN_POSE = 7
"""Seed of the pose that bones have before there is a chain."""
SWING = {1: (0.9, 0.3, 2.6), 5: (-1.2, 2.4, 2.4), 9: (0.4, -1.7, 3.1)}


@dataclass(frozen=True)
class Animated:
    """A setting of the first chain, its values by frame, and the rig on which it matters.

    Attributes:
        name: Of the setting.
        values: Numbers, linear in between.
        is_tree: Whether a second chain shares bones with it.
        settings: Other settings of the chain.
        idle: Frames at which the chain does nothing; a driver or key that is at zero there.
    """

    name: str
    values: dict[float, object]
    is_tree: bool = False
    settings: tuple[tuple[str, object], ...] = ()
    idle: tuple[int, ...] = ()


CASES = {
    "influence": Animated("influence", {1: 0.0, 3: 0.0, 5: 1.0, 7: 0.0, 9: 0.6}, idle=(1, 2, 3, 7)),
    "mute": Animated("mute", {1: True, 3: False, 6: True, 8: False}, idle=(1, 2, 6, 7)),
    "mute, in part": Animated(
        "mute", {1: True, 3: False, 6: True, 8: False}, settings=(("influence", 0.5),),
        idle=(1, 2, 6, 7),
    ),
    "weight": Animated("weight", {1: 0.0, 5: 4.0, 9: 0.5}, is_tree=True),
    "mute in a tree": Animated("mute", {1: True, 3: False, 6: True, 8: False}, is_tree=True),
}  # fmt: skip


def limb(settings: dict[str, object]) -> bpy.types.Object:
    """Return a rig of four bones that follow a target, with a pole."""
    ob = rigs.make_rig(rigs.zigzag(4, seed=3))
    rigs.turn_bones(ob, OWN_POSE)
    target = rigs.make_empty()
    rigs.key(target, "location", SWING)
    pole = rigs.make_empty("Pole", (2.0, -3.0, 2.0))
    rigs.add_chain(ob, "Bone.3", target, chain_count=4, pole_target=pole, **settings)
    return ob


def tree(settings: dict[str, object]) -> bpy.types.Object:
    """Return a rig with two arms on a trunk, whose targets are too far apart to reach both."""
    both = tree_rigs.make_y()
    both.follow(solver="NEWTON")
    for name, side in zip(both.tips, (1.0, -1.0), strict=True):
        place = np.array((1.6 * side, 0.4, 1.2))
        ways = {1: place, 9: np.add(place, (0.2, -0.9, 0.3))}
        rigs.key(both.target(name), "location", ways)
    for name, value in settings.items():
        setattr(both.ob.chain_ik.chains[0], name, value)
    return both.ob


def key_setting(ob: bpy.types.Object, case: Animated) -> None:
    rigs.key(ob, f"chain_ik.chains[0].{case.name}", case.values)


def drive_setting(ob: bpy.types.Object, case: Animated) -> None:
    """Have a keyed property of another object drive the setting."""
    control = rigs.make_empty("Control")
    for frame, value in case.values.items():
        control["value"] = float(value)
        control.keyframe_insert('["value"]', frame=frame)
    for point in rigs.curves_of(control)[0].keyframe_points:
        point.interpolation = "CONSTANT" if case.name in ("mute", "use_flip_bend") else "LINEAR"
    read_by(ob, f"chain_ik.chains[0].{case.name}", control, '["value"]')


WAYS: dict[str, Callable[[bpy.types.Object, Animated], None]] = {
    "keyed": key_setting,
    "driven": drive_setting,
}


def animation_of(ob: bpy.types.Object, case: Animated) -> bpy.types.FCurve:
    (curve,) = [
        curve
        for curve in (*rigs.curves_of(ob), *ob.animation_data.drivers)
        if curve.data_path.endswith(f".{case.name}")
    ]
    return curve


SCENES = (
    ("influence", "keyed", "stored bones"),
    ("influence", "driven", "keyed bones"),
    ("mute", "keyed", "keyed bones"),
    ("mute, in part", "keyed", "stored bones"),
    ("weight", "keyed", "stored bones"),
    ("mute in a tree", "driven", "stored bones"),
)
each_scene = pytest.mark.parametrize(("name", "way", "bones"), SCENES, ids=map(" ".join, SCENES))


def make_scene(case: Animated, way: str, bones: str) -> bpy.types.Object:
    """Return a rig with the setting animated, active; its bones have keys or only a stored pose."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    scene.frame_set(1)
    ob = (tree if case.is_tree else limb)(dict(case.settings))
    if bones == "keyed bones":
        with rigs.at_rest():
            rigs.key_bones(ob, frames=(1, 5, 9))
    WAYS[way](ob, case)
    select_objects(active=ob)
    return ob


def played(ob: bpy.types.Object, frames=FRAMES) -> dict[int, np.ndarray]:
    """Return evaluated poses by frame, visited in this order."""
    return {frame: rigs.pose(ob, rigs.go_to(frame)) for frame in frames}


def played_without_chains(ob: bpy.types.Object) -> dict[int, np.ndarray]:
    """Return what a rig shows by its keys alone, or as its bones are stored."""
    free = rigs.link(ob.copy())
    free.chain_ik.chains.clear()
    rigs.turn_bones(free, OWN_POSE)
    found = played(free)
    bpy.data.objects.remove(free)
    return found


def assert_same(found: dict[int, np.ndarray], expected: dict[int, np.ndarray]) -> None:
    for frame, pose in expected.items():
        np.testing.assert_allclose(
            found[frame], pose, rtol=0.0, atol=SAME * LENGTH, err_msg=f"frame {frame}"
        )


def assert_differs(found: dict[int, np.ndarray], other: dict[int, np.ndarray]) -> None:
    assert max(np.abs(found[frame] - other[frame]).max() for frame in FRAMES) > MATTERS


def shuffled(seed: int) -> list[int]:
    return [int(frame) for frame in make_rng(seed).permutation(FRAMES)]


@each_scene
def test_scrubbing_renders_and_bakes_show_what_playing_shows(name, way, bones, tmp_path):
    case = CASES[name]
    ob = make_scene(case, way, bones)
    free, expected = played_without_chains(ob), played(ob)
    assert_differs(expected, free)
    # Where the chain does nothing, bones are left to their keys or as they are stored.
    assert_same(expected, {frame: free[frame] for frame in case.idle})
    found = played(ob, shuffled(0))
    for frame, pose in expected.items():
        np.testing.assert_array_equal(found[frame], pose, err_msg=f"frame {frame}")
    rigs.go_to(5)
    rendered = render_frames(
        tmp_path, lambda depsgraph: rigs.pose(ob, depsgraph), (FRAMES[0], FRAMES[-1])
    )
    assert_same(rendered, expected)
    # The setting is what moves the bones.
    curve = animation_of(ob, case)
    curve.mute = True
    setattr(ob.chain_ik.chains[0], case.name, case.values[1])
    assert_differs(played(ob), expected)
    curve.mute = False
    # A bake may be started where the chain is muted, too.
    rigs.go_to(1 if way == "driven" else 5)
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    assert_same(played(ob), expected)
    assert_same(played(ob, shuffled(5)), expected)
    assert all(chain.mute for chain in ob.chain_ik.chains)
