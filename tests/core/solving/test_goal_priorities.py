"""Goals of effectors with priorities, and trees that float."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Goal, Solution, Status, solve
from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.algebra.chains_first import chains_first
from blender_ik_addon.core.descent.bone_rows import BoneRows
from blender_ik_addon.core.kinematics.aims import Aims, Poles
from blender_ik_addon.core.solving.compiled_chains import compile_chains
from blender_ik_addon.core.solving.joint_run import MAX_COMPROMISE_STEPS
from tests.core.bodies import Array, make_person
from tests.core.solving.pulled_bodies import NEAR, pull, random_offset
from tests.helpers import make_rng

PERSON = make_person()
OPTIONS = replace(NEAR, stays_near=False)
FREE = (False, False, False)


def test_first_goals_are_met_later_ones_as_far_as_possible_and_statuses_say_so():
    near = solve(PERSON.chain, pull(PERSON, np.array((0.2, 0.2, 0.1))), OPTIONS)
    assert near.statuses == (Status.REACHED,) * 3
    offset = np.array((0.0, 3.0, 0.0))
    first = solve(PERSON.chain, pull(PERSON, offset), OPTIONS)
    last = solve(PERSON.chain, pull(PERSON, offset, (2, 2, 0)), OPTIONS)
    assert first.residual[:2].max() < 1e-6
    assert first.residual[2] > 1.0
    assert first.statuses[:2] == (Status.REACHED,) * 2
    assert first.statuses[2] in (Status.LIMITED, Status.OUTWEIGHED)
    assert last.residual[2] < 1e-6
    assert last.residual[:2].max() > 0.5


@pytest.mark.parametrize("seed", [1, 6])
def test_no_small_change_that_keeps_the_feet_moves_a_hand_nearer(seed):
    """The solution is a minimum: pins and limits balance the rest of the slope."""
    person = make_person(floats=False)
    offset = random_offset(seed, 0.9, 1.6)
    goal = replace(pull(person, offset), has_tip_rotation=FREE, priority=(0, 0, 2))
    start = solve(person.chain, goal, OPTIONS)
    assert start.residual[2] > 0.1
    rng = make_rng(seed)
    joints = replace(person.chain.joints, start_wxyz=start.local_rotations_wxyz)
    gains = []
    for _ in range(2):
        # A solve from a random pose nearby brings the feet back, and the hand no nearer.
        shaken = turns.multiply(
            turns.from_vectors(0.02 * rng.normal(size=(3, len(joints.kinds)))[None])[0],
            joints.start_wxyz.T,
        ).T
        moved = replace(joints, start_wxyz=shaken)
        points = compile_chains(
            Chain(person.chain.joint_positions, None, moved, None, person.chain.topology)
        )
        heads = points.clamped_states.posed.points[..., 0]
        shaken_chain = Chain(
            heads * points.unit[0] + points.root[:, 0], None, moved, None, person.chain.topology
        )
        again = solve(shaken_chain, goal, OPTIONS)
        gains.append(start.residual[2] - again.residual[2])
    assert max(gains) < 1e-5


@pytest.mark.parametrize("seed", [25, 37, 42, 70])
def test_straight_legs_stay_on_their_feet_when_a_hand_is_out_of_reach(seed):
    """A descent that goes round in a circle ends where the feet are held, not in between."""
    solution = solve(make_person(floats=False).chain, pull(PERSON, random_offset(seed)), NEAR)
    assert solution.residual[2] > 0.03
    assert solution.residual[:2].max() < 1e-6
    assert np.max(solution.iterations) < MAX_COMPROMISE_STEPS


def test_the_nearest_pose_is_found_in_at_most_14_steps_for_most_goals():
    """The curvature of held goals counts: every force belongs to the output that it holds."""
    goals = [pull(PERSON, random_offset(seed, 0.1, 0.6)) for seed in range(12)]
    steps = [int(np.max(solve(PERSON.chain, goal, NEAR).iterations)) for goal in goals]
    assert sum(count <= 14 for count in steps) >= 9


def _stretch(offsets: Array) -> list[Solution]:
    """Pull one hand of a person by offsets; the goals of neck, other hand and hips stay."""
    person = make_person("hand.L", "hand.R", "neck", "hips")
    goal = Goal(
        person.ends,
        tip_rotation_wxyz=np.tile((1.0, 0.0, 0.0, 0.0), (6, 1)),
        priority=(0, 0, 2, 2, 3, 3),
        has_tip_rotation=(True,) * 4 + FREE[:2],
    )
    hand = np.arange(6)[:, None] == 2
    targets = [person.ends + hand * offset for offset in offsets]
    return [solve(person.chain, replace(goal, target_position=target), NEAR) for target in targets]


def test_goals_that_pull_follow_their_valleys_in_few_steps():
    """Stiff springs curve a valley: every step is corrected to where it meant to move the goals."""
    angles = np.linspace(0.0, 6.0, 16)
    around = np.stack((np.cos(angles), np.sin(angles), np.sin(0.7 * angles)), axis=1)
    solutions = _stretch(np.array((0.28, -0.08, 0.08)) + 0.04 * around)
    assert min(solution.residual[2] for solution in solutions) > 1e-2
    # If only held goals are corrected, the mean is 42; if only shifts bound steps, it is 24.
    assert np.mean([np.max(solution.iterations) for solution in solutions]) < 22


def test_a_body_follows_steadily_as_a_hand_is_pulled_farther_and_farther():
    """With springs that got stiffer every round, one millimetre more led to another pose."""
    offset = random_offset(3, 1.0, 1.0)
    solutions = _stretch(np.linspace(0.34, 0.38, 21)[:, None] * offset)
    assert min(solution.residual[2] for solution in solutions) > 0.1
    joints = np.array([solution.joint_positions for solution in solutions])
    speeds = np.linalg.norm(np.diff(joints, axis=0), axis=2) / 0.002
    assert speeds.max() < 2.0


def test_a_hand_that_takes_slightly_more_than_its_greatest_force_hardly_moves_away():
    """It still pulls with this force; a spring alone leaves a gap of 3.4 mm."""
    offset = random_offset(4, 1.0, 1.0)
    held, released = _stretch(np.array((0.986, 0.988))[:, None] * offset)
    assert held.residual[2] < 1e-6
    assert 1e-3 < released.residual[2] < 3e-3


def test_goals_that_are_let_go_continue_from_the_end_of_the_first_descent():
    """From the start pose both end in other valleys, with the hips 0.04 and 0.27 m off."""
    hips = make_person("hips")
    gaps = [solve(hips.chain, pull(hips, random_offset(s)), NEAR).residual[2] for s in (34, 26)]
    assert gaps[0] < 1e-5
    assert gaps[1] < 0.12


def test_after_a_long_descent_a_second_one_begins_at_the_moved_start():
    """From one pose alone both end in a valley, with the hips 0.22 and 0.32 m off."""
    hips = make_person("hips")
    gaps = [solve(hips.chain, pull(hips, random_offset(s)), NEAR).residual[2] for s in (121, 207)]
    assert gaps[0] < 0.07
    assert gaps[1] < 0.03


def test_a_joint_of_less_mobility_turns_less():
    chain, spine = PERSON.chain, [PERSON.names.index(name) for name in ("spine", "chest")]
    mobility = np.ones((len(PERSON.names), 3))
    mobility[spine] = 0.01
    stiff = replace(chain, joints=replace(chain.joints, mobility=mobility))
    goal = pull(PERSON, np.array((0.3, -0.4, 0.3)))

    def find_largest_bend(of: Chain) -> float:
        return float(np.abs(solve(of, goal, NEAR).local_rotations_wxyz[spine, 1:]).max())

    assert find_largest_bend(stiff) < 0.2 * find_largest_bend(chain)


def test_a_floating_tree_follows_its_goals_anywhere():
    shift = np.array((7.0, -3.0, 2.0))
    for options in (OPTIONS, NEAR):
        solution = solve(PERSON.chain, Goal(PERSON.ends + shift, priority=(1, 1, 1)), options)
        assert solution.residual.max() < 1e-5
        assert solution.statuses == (Status.REACHED,) * 3
        np.testing.assert_allclose(solution.joint_positions[0], PERSON.heads[0] + shift, atol=0.3)


def test_outputs_change_with_the_place_as_differences_of_them_show():
    """Positions, turns and poles of a floating tree; the formulas were derived for this project."""
    rng, compiled = make_rng(3), compile_chains(PERSON.chain)
    tree, limbs = compiled.tree, compiled.limbs
    count = len(limbs.effectors)
    target, pole = (rng.normal(size=(count, 3, 1)) for _ in range(2))
    poles = Poles(limbs, target, pole, np.zeros((count, 1)), np.ones(1))
    aims = Aims(tree.topology, poles, None, tree.reach, tree.sqrt_weights)
    bones = BoneRows(replace(tree, aims=aims), np.zeros((len(PERSON.names), 1)))
    turn = turns.from_vectors(0.3 * rng.normal(size=(len(PERSON.names), 3, 1)))
    turn = chains_first(tree.joints.clamped(turn))
    turn[:, 0] = (1.0, 0.0, 0.0, 0.0)
    place, step = 0.1 * rng.normal(size=(1, 3)), 1e-6
    jacobian = bones.find_jacobian(bones.pose(turn, place=place))
    assert count >= 2
    for axis in range(3):
        ends = [place + sign * step * np.eye(3)[axis] for sign in (1.0, -1.0)]
        high, low = (bones.find_output(bones.pose(turn, place=end)) for end in ends)
        np.testing.assert_allclose(
            jacobian[:, :, axis], (high - low) / (2.0 * step), rtol=1e-5, atol=1e-6
        )


def test_pins_hold_as_well_after_a_descent_that_begins_near_its_end():
    """Such a descent rests after few steps: feet slipped by 1.7e-5 m, otherwise by 2e-7 at most."""
    goal = pull(PERSON, np.array((0.90738337, 0.09441949, -0.74671955)))
    solution = solve(PERSON.chain, goal, NEAR)
    assert max(solution.residual[:2].max(), solution.tip_gap[:2].max()) < 1e-6
