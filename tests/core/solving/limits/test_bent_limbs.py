"""Limbs that limits keep from straightening or folding: out of reach they turn to targets at once.

The second bone leans sideways from its hinge, or the hinge keeps some of its bend.
"""

import numpy as np
import pytest

from blender_ik_addon import core
from blender_ik_addon.core.solving import restarts
from blender_ik_addon.core.solving.compiled_chains import compile_chains
from blender_ik_addon.core.solving.restarts import sample_tips
from tests.core.chains import SOLVERS, unit
from tests.core.limited_rigs import K, Rig, make_rig
from tests.helpers import angles_between, make_rng, record_calls, vector_angles

NEWTON = core.Solver.NEWTON
# FORCE stops where its springs are at rest.
AIMED = [solver for solver in SOLVERS if solver is not core.Solver.FORCE]
# The lengths of the bones.
UPPER, LOWER = 0.5, 0.45
# Degrees to which knees bend.
MOST_BEND = 150.0
# Degrees that the lower bone leans sideways, and least bend of the knee.
BENT = [(0.0, 12.0), (6.0, 0.0), (6.0, -20.0), (8.0, 30.0)]
# Shares of the length: the accepted gap of a solve, and a gap between two poses that count as one.
TOLERANCE, ROUNDING = 1e-5, 1e-9
# Rest axes in single precision lead away from their bones by about this.
ASTRAY = 1e-7
# The sweeps. Where steps of NEWTON lead to full extension, there are 11 to 76 iterations.
MOST_ITERATIONS = 7


def make_limb(kind: core.JointKind, sideways: float, least: float, astray: float = 0.0) -> Rig:
    ranges = ((least, MOST_BEND), (-80, 80)) if kind is K.ELBOW_X else ((least, MOST_BEND),)
    bones, bends = [(K.BALL, ()), (kind, ranges)], ((0, -4), (2, sideways))
    return make_rig(bones, (UPPER, LOWER), bends=bends, astray=astray)


def find_span(sideways: float, bend: float) -> float:
    """Return the distance between the ends of a limb."""
    cosine = np.cos(np.radians(sideways)) * np.cos(np.radians(bend))
    return float(np.sqrt(UPPER**2 + LOWER**2 + 2.0 * UPPER * LOWER * cosine))


def aim(rig: Rig, targets: np.ndarray, solver: core.Solver, poles: np.ndarray | None = None):
    options = core.SolveOptions(solver, tolerance=TOLERANCE * rig.length, stays_near=True)
    return core.solve_batch(rig.chains(len(targets)), core.Goals(targets, poles), options)


@pytest.mark.parametrize("astray", [0.0, ASTRAY], ids=["exact", "rounded"])
@pytest.mark.parametrize("count", [4, 40], ids=["few", "many"])
@pytest.mark.parametrize("has_pole", [False, True], ids=["free", "pole"])
@pytest.mark.parametrize("kind", [K.HINGE_X, K.ELBOW_X])
@pytest.mark.parametrize(("sideways", "least"), BENT)
@pytest.mark.parametrize("solver", AIMED)
def test_a_limb_that_cannot_straighten_points_at_a_target_out_of_reach(
    solver, sideways, least, kind, has_pole, count, astray
):
    rig, rng = make_limb(kind, sideways, least, astray), make_rng(3)
    directions = unit(rng.normal(size=(count, 3)) * 0.3 + (0.0, 1.0, 0.0))
    distances = rng.uniform(1.0, 1.4, count) * rig.length
    poles = np.tile((0.2, 0.3, -2.0), (count, 1)) if has_pole else None
    solutions = aim(rig, directions * distances[:, None], solver, poles)
    gaps = solutions.residual - (distances - find_span(sideways, max(least, 0.0)))
    assert np.abs(gaps).max() <= (ROUNDING + 10.0 * astray) * rig.length
    assert solutions.iterations.max() <= MOST_ITERATIONS
    assert set(solutions.statuses) <= {core.Status.LIMITED, core.Status.EXTENDED}
    if least > 0.0:
        assert solutions.holds[:, 1, 0].all(), "the knee holds it back"


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limb_that_cannot_straighten_does_not_jump_where_a_target_passes_its_ends(solver):
    rig, ends = make_limb(K.ELBOW_X, 6.0, 0.0), (find_span(6.0, 0.0), find_span(6.0, MOST_BEND))
    steps = np.array([-1e-7, -1e-9, 0.0, 1e-9, 1e-7, 1e-5])
    for end, most in zip(ends, (0.02, 1e-3), strict=True):
        targets = (1.0 + steps[:, None]) * end * unit(np.array([0.2, 1.0, 0.1]))
        posed = aim(rig, targets, solver, np.tile((0.2, 0.3, -2.0), (len(steps), 1)))
        turned = angles_between(posed.local_rotations_wxyz[1:], posed.local_rotations_wxyz[:-1])
        assert turned.max() <= most


@pytest.mark.parametrize("has_pole", [False, True], ids=["free", "pole"])
@pytest.mark.parametrize("kind", [K.HINGE_X, K.ELBOW_X])
@pytest.mark.parametrize("solver", AIMED)
def test_a_limb_that_cannot_fold_farther_points_at_a_target_too_near(solver, kind, has_pole):
    (rig, count), rng = (make_limb(kind, 6.0, 0.0), 20), make_rng(7)
    nearest = find_span(6.0, MOST_BEND)
    directions = unit(rng.normal(size=(count, 3)) * 0.5 + (0.0, 1.0, 0.0))
    distances = rng.uniform(0.3, 0.99, count) * nearest
    poles = np.tile((0.2, 0.3, -2.0), (count, 1)) if has_pole else None
    solutions = aim(rig, directions * distances[:, None], solver, poles)
    assert np.abs(solutions.residual - (nearest - distances)).max() <= ROUNDING * rig.length
    assert solutions.iterations.max() <= MOST_ITERATIONS
    assert set(solutions.statuses) == {core.Status.LIMITED}
    assert solutions.holds[:, 1, 0].all(), "the elbow holds it back"


@pytest.mark.parametrize("least", [0.0, -5.0, -10.0])
@pytest.mark.parametrize("sideways", [3.0, 5.0, 8.0, 12.0])
def test_a_knee_that_rests_bent_sideways_alone_bends_about_its_hinge(sideways, least):
    rig, rng, count = make_limb(K.HINGE_X, sideways, least), make_rng(5), 400
    shares = np.linspace(0.7, 1.0, count)[:, None]
    sway = 0.02 * np.sin(np.arange(count) / 60.0)[:, None] * unit(rng.normal(size=3))
    posed = aim(rig, (shares * unit(np.array([0.1, 1.0, -0.1])) + sway) * rig.length, NEWTON)
    turned = angles_between(posed.local_rotations_wxyz[1:], posed.local_rotations_wxyz[:-1])
    # The knee straightens with the square root of the distance; from other starts it jumps by 30
    # to 110 degrees.
    assert np.degrees(turned.max()) <= 6.0


@pytest.mark.parametrize("kind", [K.HINGE_X, K.HINGE_Z, K.ELBOW_X, K.ELBOW_Z])
def test_no_pose_reaches_farther_or_nearer_than_pairs_of_bones_stretch_and_fold(kind):
    rng, is_elbow = make_rng(9), kind in (K.ELBOW_X, K.ELBOW_Z)
    for seed in range(20):
        low = rng.uniform(-60.0, 60.0)
        ranges = ((low, low + rng.uniform(10.0, 90.0)),) * (1 + is_elbow)
        bends = ((0, -10.0), (2, rng.uniform(-40.0, 40.0)))
        astray = 0.0 if is_elbow else 0.2
        bones = [(K.BALL, ()), (kind, ranges)]
        rig = make_rig(bones, (0.4, 0.5), bends=bends, astray=astray, seed=seed)
        tree = compile_chains(rig.chains(1)).tree
        distances = np.linalg.norm(sample_tips(tree)[0], axis=0)
        assert (distances <= tree.farthest + ROUNDING * tree.reach).all()
        assert (distances >= tree.least_reach - ROUNDING * tree.reach).all()
        # 64 poses come near both ends.
        assert distances.max() >= tree.farthest - 0.02
        assert distances.min() <= tree.limited.nearest + 0.02


def test_no_pose_of_a_neck_comes_nearer_than_an_arc_of_its_greatest_bends():
    ranges, bones = ((-20, 20), (-30, 30), (-20, 20)), 4
    neck = make_rig([(K.BALL, ())] + [(K.BALL, ranges)] * bones)
    turns = np.exp(1j * np.radians(20.0) * np.arange(bones + 1))
    arc, tree = float(np.abs(turns.sum())), compile_chains(neck.chains(1)).tree
    assert tree.least_reach * neck.length == pytest.approx(arc * tree.reach)
    planar = make_rig([(K.BALL, ())] + [(K.HINGE_X, ((0, 20),))] * bones)
    solution = aim(planar, np.array([[0.0, 0.5 * arc, 0.0]]), NEWTON)
    assert solution.residual[0] == pytest.approx(0.5 * arc, rel=1e-6)


def test_no_other_start_is_tried_where_a_neck_bends_as_far_as_it_can(monkeypatch):
    ranges = ((-20, 20), (-30, 30), (-20, 20))
    neck = make_rig([(K.BALL, ())] + [(K.BALL, ranges)] * 2, bends=[(0, 2)] * 3)
    calls = record_calls(monkeypatch, restarts, "find_nearest")
    posed = aim(neck, np.array([(0.0, 2.7, 0.3), (0.1, 2.75, 0.2)]), NEWTON)
    assert set(posed.statuses) == {core.Status.LIMITED}
    assert not calls


@pytest.mark.parametrize("solver", [core.Solver.FABRIK, core.Solver.CCD])
def test_sweeps_straighten_a_limb_to_its_pole_in_few_iterations(solver):
    """At full reach each step halves what is left, and 46 steps led to the last digit."""
    rig = make_limb(K.HINGE_X, 0.0, -20.0)
    ways = unit(make_rng(3).normal(size=(12, 3)) * 0.3 + (0.0, 1.0, 0.0))
    posed = aim(rig, 1.3 * rig.length * ways, solver, np.tile((0.2, 0.3, -2.0), (12, 1)))
    assert posed.iterations.max() <= 40
    assert np.abs(posed.residual - 0.3 * rig.length).max() <= ROUNDING * rig.length


@pytest.mark.parametrize("solver", [NEWTON, core.Solver.FABRIK, core.Solver.CCD])
def test_an_arm_with_a_hand_faces_its_pole_out_of_reach(solver):
    """Laid along its line after it had turned to the pole, it missed that by up to 68 degrees."""
    hand = (K.BALL, ((-60, 60), (-40, 40), (-45, 45)))
    bones = [(K.BALL, ()), (K.ELBOW_X, ((0, MOST_BEND), (-80, 80))), hand]
    rig = make_rig(bones, (1.0, 0.9, 0.3), bends=((0, -4), (2, 6), (0, 3)))
    ways = unit(make_rng(3).normal(size=(10, 3)) * 0.3 + (0.0, 1.0, 0.0))
    poles = np.tile(np.array((0.2, 0.3, -2.0)) * rig.length, (10, 1))
    points = aim(rig, 1.2 * rig.length * ways, solver, poles).joint_positions
    offsets = (
        part - ways * (part * ways).sum(axis=1, keepdims=True) for part in (points[:, 1], poles)
    )
    assert np.degrees(vector_angles(*offsets)).max() <= 0.1
