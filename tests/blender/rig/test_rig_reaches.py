"""Chains of any bones under any scales reach: rolls, tails, branches, inheritance, mirrors, shear.

Measured in world space. Blender keeps poses in float32: a bone's direction is known to 1e-7, and
the matrices that lead from it to the world round as much again, times the ratio of longest to
shortest axis. 1e-5 of the limb's length leaves room for the ratios of up to 10 that occur here.
"""

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import make_rng

# Many solves, so not in the quick subset.
pytestmark = pytest.mark.slow

MAX_MISS, MAX_SCALED_MISS = 1e-6, 1e-5
Change = Callable[[bpy.types.Object, list[str], np.random.Generator], object]


def reach(ob, bones, rng, solver="NEWTON", angle=0.7, miss=MAX_MISS, **settings):
    """Check that a limb reaches a point that its bones can reach."""
    point = scaled_rigs.reachable_point(ob, bones, rng, angle)
    tolerance = 0.1 * miss * scaled_rigs.limb_length(ob, bones)
    settings |= {"solver": solver, "tolerance": tolerance}
    chain, target = scaled_rigs.follow(ob, bones, point, **settings)
    distance = scaled_rigs.miss(ob, bones, target)
    assert distance <= miss, f"missed by {distance:.3g} of the limb: {chain.status}"
    assert chain.status.startswith("Reached"), chain.status


def located(*, is_local: bool) -> Change:
    def apply(ob, _bones, rng):
        scaled_rigs.set_bones(ob, ob.data.bones.keys(), use_local_location=is_local)
        for bone in ob.pose.bones:
            bone.location = rng.uniform(-0.4, 0.4, 3)

    return apply


def inherited(scale: str, *, turns: bool) -> Change:
    def apply(ob, _bones, rng):
        names = ob.data.bones.keys()
        scaled_rigs.set_bones(ob, names, inherit_scale=scale, use_inherit_rotation=turns)
        for i, bone in enumerate(ob.pose.bones):
            bone.scale = (1.0 + 0.2 * (i % 2),) * 3
        scaled_rigs.turn(ob, ["Bone.0", "Bone.1"], rng, 0.6)

    return apply


def inherited_at_random(ob, _bones, rng):
    for bone in ob.data.bones:
        bone.inherit_scale = rng.choice(rigs.INHERITED)
        bone.use_inherit_rotation = rng.random() < 0.5
    scaled_rigs.turn(ob, ob.pose.bones.keys(), rng, 0.4)


def turned_and_moved(ob, rng):
    ob.rotation_mode = "QUATERNION"
    ob.rotation_quaternion = scaled_rigs.random_quaternion(rng, 3.0)
    ob.location = rng.uniform(-1.0, 1.0, 3)


def object_scaled(*scale: float) -> Change:
    def apply(ob, _bones, rng):
        turned_and_moved(ob, rng)
        ob.location *= abs(scale[0])
        ob.scale = scale

    return apply


def sheared(*scale: float) -> Change:
    def apply(ob, _bones, rng):
        turned_and_moved(ob, rng)
        ob.parent = scaled_rigs.sheared_parent(scale, scaled_rigs.random_quaternion(rng, 2.0))

    return apply


def bone_scaled(which: int, *scale: float) -> Change:
    """Scale the bone above the limb (-2), its root or its tip (-1)."""

    def apply(ob, bones, rng):
        scaled_rigs.scale_bones(ob, {"Bone.0" if which == -2 else bones[which]: scale})
        if which == -2:
            scaled_rigs.turn(ob, ["Bone.0", "Bone.1"], rng, 0.5)

    return apply


def all_scaled(ob, _bones, rng):
    sheared(*rng.uniform(0.5, 1.5, 3))(ob, _bones, rng)
    ob.scale = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.5, 1.5, 3)
    for bone in ob.pose.bones:
        bone.scale = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.85, 1.15, 3)


BONES: dict[str, Change] = {
    "plain": lambda *_: None,
    "located": located(is_local=True),
    "located in parents": located(is_local=False),
    "inherited by each": inherited_at_random,
    **{f"turns with {scale}": inherited(scale, turns=True) for scale in rigs.INHERITED},
    **{f"stays with {scale}": inherited(scale, turns=False) for scale in rigs.INHERITED},
}
SCALED: dict[str, Change] = {
    "uneven": object_scaled(0.5, 2.0, 1.3),
    "minus x": object_scaled(-1.0, 1.0, 1.0),
    "minus xy": object_scaled(-1.0, -1.0, 1.0),
    "minus all": object_scaled(-1.0, -1.0, -1.0),
    "minus uneven": object_scaled(-0.4, 1.0, -1.7),
    "huge": object_scaled(100.0, 100.0, 100.0),
    "tiny and mirrored": object_scaled(-0.01, 0.01, 0.01),
    "sheared": sheared(0.3, 1.0, 2.0),
    "sheared and mirrored": sheared(-0.5, 1.0, 1.5),
    "sheared and thin": sheared(1.0, 1.0, 0.1),
    **{
        f"{word} {scale}": bone_scaled(which, *scale)
        for word, which in (("above", -2), ("root", 0), ("tip", -1))
        for scale in (
            (2.0, 2.0, 2.0),
            (0.6, 1.4, 1.0),
            (-1.0, 1.0, 1.0),
            (1.0, -1.0, 1.0),
            (1.0, 1.0, -1.0),
            (1.2, -0.7, 0.9),
        )
    },
    "everywhere": all_scaled,
}
# Every case with one of the solvers, in turn.
CASES = [(name, rigs.SOLVERS[i % 4]) for i, name in enumerate((*BONES, *SCALED))]


@pytest.mark.every_case
@pytest.mark.parametrize(("name", "solver"), CASES)
def test_target_is_reached_with_any_bones_and_scales(name, solver):
    rng, count = make_rng(rigs.SOLVERS.index(solver)), 2 if solver == "TWO_BONE" else 4
    ob, bones = scaled_rigs.random_rig(rng, count, spread=rng.choice((0.0, 0.5)))
    (BONES | SCALED)[name](ob, bones, rng)
    angle = 0.5 if name == "everywhere" else 0.7
    reach(ob, bones, rng, solver, angle, MAX_MISS if name in BONES else MAX_SCALED_MISS)


@pytest.mark.parametrize("solver", ["NEWTON", "FORCE"])
def test_bones_with_joints_that_uneven_scale_lengthens_reach(solver):
    """A turn lengthens bones below uneven scale; the pose to start from may be a short one."""
    rng = make_rng(42)
    for _ in range(8):
        ob, bones = scaled_rigs.random_rig(rng, 3)
        scaled_rigs.scale_bones(ob, {"Bone.1": (1.25, 0.64, 1.25)})
        scaled_rigs.turn(ob, bones, rng, 0.7)
        ob.pose.bones[bones[1]].ik_stiffness_y = 0.1
        reach(ob, bones, rng, solver, 1.2, MAX_SCALED_MISS, use_limits=True)


@pytest.mark.parametrize("count", [0, 12])
def test_a_chain_count_of_zero_or_beyond_the_root_ends_at_the_root(count):
    ob = rigs.make_rig(rigs.zigzag(5))
    before = rigs.rotations(ob)
    target, _ = rigs.follow(ob, "Bone.4", (1.0, 1.0, 2.5), chain_count=count, tolerance=1e-7)
    rigs.updated()
    assert scaled_rigs.miss(ob, list(before), target) <= MAX_MISS
    assert all(rigs.rotations(ob)[name] != before[name] for name in before)


@pytest.mark.parametrize("scale", [(1.0, 2.0, 1.0), (2.0, 1.0, 1.0)])
def test_toes_below_a_scaled_bone_are_turned_as_their_target_is(scale):
    """A chain of one bone with the target's rotation has no bone left to reach with."""
    ob = rigs.make_rig(rigs.ARM)
    ob.pose.bones["Bone.0"].scale = scale
    target = rigs.make_empty(location=(0.3, 0.4, 2.0))
    target.rotation_euler = (1.0, 0.4, 0.2)
    chain = rigs.add_chain(
        ob, "Bone.1", target, chain_count=1, use_rotation=True, rotation_bone="TIP"
    )
    depsgraph = rigs.updated()
    turned = target.matrix_world.to_quaternion() @ Vector((0.0, 1.0, 0.0))
    along = rigs.tail(ob, "Bone.1", depsgraph) - rigs.head(ob, "Bone.1", depsgraph)
    np.testing.assert_allclose(along / np.linalg.norm(along), turned, atol=1e-5)
    gap = np.linalg.norm(rigs.tail(ob, "Bone.1", depsgraph) - rigs.position(target, depsgraph))
    assert chain.residual == pytest.approx(gap, abs=1e-5)
