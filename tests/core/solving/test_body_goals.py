"""Goals of whole bodies: compared with SciPy, with different priorities, along paths."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Goal, JointKind, Joints, Topology, solve
from tests.core.bodies import FEET, HEIGHT, PARTS, make_person
from tests.core.solving import pulled_bodies

# The largest errors of pins, a share of the height and radians; users are promised 2e-5 and 1e-4.
SLIP, TURNED = 1e-6, 2e-6
# Radians by which a joint may be out of its range.
PAST = 1e-9
# The largest move of a goal by goals of lower priority, a share of the height.
YIELDS = 1e-6
ANYHOW = replace(pulled_bodies.NEAR, stays_near=False)


@pytest.mark.parametrize(
    ("part", "options"), [*((part, pulled_bodies.NEAR) for part in PARTS), ("hand.L", ANYHOW)]
)
def test_pinned_feet_stay_and_ranges_hold_wherever_a_part_is_pulled(part, options):
    person = make_person(part)
    pulled = [pulled_bodies.pull_at(person, seed, options) for seed in range(4)]
    assert max(result.residual[:2].max() for result in pulled) < SLIP * HEIGHT
    assert max(result.foot_gap for result in pulled) < TURNED
    assert max(result.violation for result in pulled) < PAST


# By seed: the least ``start_cost`` that SciPy's SLSQP finds, with its own kinematics in sines of
# half angles, from rest and from a random pose.
NEAREST = {0: 0.00266493568, 2: 0.00750640935, 3: 0.302348799, 4: 0.00833526122, 5: 0.0736503574}


@pytest.mark.parametrize("seed", NEAREST)
def test_a_hand_reaches_as_near_to_rest_as_scipy_does(seed):
    ours = pulled_bodies.pull_at(make_person("hand.L"), seed)
    assert ours.is_met
    assert ours.start_cost <= NEAREST[seed] * (1.0 + 1e-6)


@pytest.mark.parametrize("seed", [0, 4, 13, 18])
def test_straight_legs_bend_where_hips_are_pulled(seed):
    """SciPy reaches all of these targets."""
    assert pulled_bodies.pull_at(make_person("hips"), seed).is_met


@pytest.mark.parametrize("offset", [(0.0, -0.02, 0.0), (0.05, -0.2, 0.1)])
@pytest.mark.parametrize("pinned", ["soles", "ankles"])
def test_straight_legs_crouch(pinned, offset):
    """Legs that end at the ankles have their effectors on the heads of the feet."""
    person = make_person("hips")
    points, topology = person.ends.copy(), person.chain.topology
    if pinned == "ankles":
        points[:2] = person.heads[list(topology.effector_bones[:2])]
    chain = replace(person.chain, joint_positions=np.concatenate((person.heads, points)))
    target = points + np.array((np.zeros(3), np.zeros(3), offset))
    goal = Goal(
        target, tip_rotation_wxyz=pulled_bodies.UPRIGHT, priority=(0, 0, 1), has_tip_rotation=FEET
    )
    assert solve(chain, goal, pulled_bodies.NEAR).residual.max() < pulled_bodies.MET


@pytest.mark.parametrize(("seed", "least"), [(0, 21), (5, 13)])
def test_hips_go_far_down_past_the_limits_of_ankles(seed, least):
    """All 21 targets are reachable: a drag in small steps reaches them."""
    person = make_person("hips")
    offsets = pulled_bodies.smooth_path(person, seed)[::15] - person.ends[2]
    solutions = [
        solve(person.chain, pulled_bodies.pull(person, offset), pulled_bodies.NEAR)
        for offset in offsets
    ]
    assert sum(end.residual[2] < pulled_bodies.MET for end in solutions) >= least


def test_a_second_priority_does_not_move_a_first_one_that_can_be_met():
    """The right hand stays at its target while the left hand is pulled, also out of reach."""
    person = make_person("hand.R", "hand.L")
    are_both_met = []
    offsets = [pulled_bodies.random_offset(seed + 50, 0.3, 1.2) for seed in range(8)]
    for seed, offset in enumerate((*offsets, (2.0, 0.1, 0.0), (20.0, 0.1, 0.0))):
        target = person.ends.copy()
        target[2] += pulled_bodies.random_offset(seed, 0.05, 0.2)
        target[3] += offset
        feet = (True, True, False, False)
        upright = np.vstack((pulled_bodies.UPRIGHT, pulled_bodies.UPRIGHT[:1]))
        goal = Goal(target, tip_rotation_wxyz=upright, priority=(0, 0, 1, 2), has_tip_rotation=feet)
        solution = solve(person.chain, goal, pulled_bodies.NEAR)
        are_both_met.append(solution.residual[3] < pulled_bodies.MET)
        assert solution.residual[:3].max() < YIELDS * HEIGHT
    assert 1 <= sum(are_both_met) <= 7


@pytest.mark.parametrize("part", ["hand.L", "hips"])
@pytest.mark.parametrize("seed", [0, 4])
def test_a_pose_to_stay_near_works_as_a_start_pose(part, seed):
    """From a first pull to a second one: the start is the first pose, or ``near_wxyz`` gives it."""
    person = make_person(part)
    offsets = 0.3 * pulled_bodies.random_offset(seed), pulled_bodies.random_offset(seed)
    goals = [pulled_bodies.pull(person, offset) for offset in offsets]
    first = solve(person.chain, goals[0], pulled_bodies.NEAR)
    assert first.residual.max() < pulled_bodies.MET
    joints = replace(person.chain.joints, start_wxyz=first.local_rotations_wxyz)
    moved = replace(person.chain, joint_positions=first.joint_positions, joints=joints)
    near = {"near_wxyz": first.local_rotations_wxyz, "near_root": first.joint_positions[0]}
    expected = solve(moved, goals[1], pulled_bodies.NEAR).joint_positions
    solution = solve(person.chain, replace(goals[1], **near), pulled_bodies.NEAR)
    assert solution.residual.max() < pulled_bodies.MET
    assert np.abs(solution.joint_positions - expected).max() < YIELDS * HEIGHT
    plain = solve(person.chain, goals[1], pulled_bodies.NEAR).joint_positions
    assert np.abs(plain - expected).max() > 1e-3


@pytest.mark.parametrize("turn", [0.0, 0.5, -2.0])
def test_a_straight_leg_bends_where_its_knee_points_in_the_pose_to_stay_near(turn):
    """A vertical leg on a fixed foot, turned as a whole, whose top is pushed down."""
    heads = np.array(((0.0, 2.0, 0.0), (0.0, 2.0, 0.0), (0.0, 1.0, 0.0)))
    ends = np.array(((0.0, 0.0, 0.0), (0.2, 2.0, 0.0)))
    free = np.full((3, 3), np.inf)
    at_rest = np.tile((1.0, 0.0, 0.0, 0.0), (3, 1))
    kinds = (JointKind.FLOATING, JointKind.BALL, JointKind.BALL)
    joints = Joints(kinds, np.tile(np.eye(3), (3, 1, 1)), at_rest, -free, free)
    ahead = np.tile((0.0, 0.0, 1.0), (3, 1))
    topology = Topology((-1, 0, 1), (2, 0))
    leg = Chain(np.concatenate((heads, ends)), ahead, joints, topology=topology)
    near = at_rest.copy()
    near[1] = np.cos(turn / 2), 0.0, np.sin(turn / 2), 0.0
    goal = Goal(
        ends - ((0.0, 0.0, 0.0), (0.0, 0.3, 0.0)),
        priority=(0, 1),
        near_wxyz=near,
        near_root=heads[0],
    )
    solution = solve(leg, goal, pulled_bodies.NEAR)
    assert solution.residual.max() < pulled_bodies.MET
    knee = solution.joint_positions[2] * (1.0, 0.0, 1.0)
    direction = np.array((np.sin(turn), 0.0, np.cos(turn)))
    assert knee @ direction > 0.3
    assert np.abs(knee - (knee @ direction) * direction).max() < 1e-3


@pytest.mark.parametrize(("seed", "first"), [(1, 0), (8, 240), (22, 40)])
def test_joints_move_steadily_while_a_target_moves_along_smooth_paths(seed, first):
    person = make_person("hand.L")
    path = pulled_bodies.smooth_path(person, seed)[first : first + 40]
    assert (pulled_bodies.find_speeds(person, path) <= 4.0).all()
