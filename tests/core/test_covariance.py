"""Solutions move with a problem that is moved, mirrored or scaled; solved again, nothing moves."""

from dataclasses import dataclass

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Goal, SolveOptions, bone_rotations, solve
from blender_ik_addon.core.algebra import rotation
from tests.core import chains
from tests.helpers import assert_positions_close, assert_rotations_close, make_rng

# Distances of targets, shares of the full reach: folded, comfortable, nearly straight, too far.
SHARES_OF_LENGTH = (0.15, 0.6, 0.95, 1.4)
TOLERANCE = 1e-9
# Rounding may stop the sweeps one earlier or later: two poses that both meet the tolerance may
# differ by 1000 tolerances, a share of the length.
SAME_POSE = 1e3 * TOLERANCE
# Directions of sides are computed from small differences of the joints' coordinates.
SAME_ROTATION = 1e-5
every_solver = pytest.mark.parametrize(("count", "solver"), chains.EVERY_SOLVER)


@dataclass(frozen=True)
class Motion:
    """A linear map that keeps angles, and a shift."""

    linear: chains.Array
    shift: chains.Array
    scale: float = 1.0
    is_mirror: bool = False

    def point(self, points):
        return points @ self.linear.T + self.shift

    def chain(self, chain):
        return Chain(self.point(chain.joint_positions), self.linear @ chain.bend_direction)

    def goal(self, goal):
        pole = goal.pole_position
        return Goal(
            self.point(goal.target_position),
            None if pole is None else self.point(pole),
            -goal.pole_angle if self.is_mirror else goal.pole_angle,
        )


def rigid(rng):
    return Motion(chains.random_frame(rng), 5.0 * rng.normal(size=3))


def mirror(rng):
    normal = chains.random_direction(rng)
    return Motion(np.eye(3) - 2.0 * np.outer(normal, normal), rng.normal(size=3), is_mirror=True)


MOTIONS = {"moved": rigid, "mirrored": mirror}


def problems(count, pose):
    """Yield chains and goals, with and without a pole."""
    rng = make_rng(count)
    chain = chains.start_chain(pose, count, rng, ratio=2.0)
    for share in SHARES_OF_LENGTH:
        target = chains.target_at(chain, share * chain.max_reach, chains.random_direction(rng))
        yield chain, Goal(target)
        yield chain, Goal(target, chains.pole_beside(chain, target, rng), 0.4)
    # A swing of half a turn has no unique axis: it turns in the plane of the bend.
    joints = chain.joint_positions
    for toward in (0.8, -0.8) if pose == "arc" else ():
        yield chain, Goal(joints[0] + toward * (joints[-1] - joints[0]))


def solve_both(chain, goal, motion, solver, **options):
    """Return the solutions of the problem and of the moved problem, and the moved chain."""
    tolerance = TOLERANCE * chain.max_reach
    moved = motion.chain(chain)
    before = SolveOptions(solver=solver, tolerance=tolerance, **options)
    after = SolveOptions(solver=solver, tolerance=motion.scale * tolerance, **options)
    return solve(chain, goal, before), solve(moved, motion.goal(goal), after), moved


def assert_moves_along(chain, goal, motion, solver, **options):
    plain, moved, moved_chain = solve_both(chain, goal, motion, solver, **options)
    assert_positions_close(
        moved.joint_positions,
        motion.point(plain.joint_positions),
        SAME_POSE * moved_chain.max_reach,
    )
    assert moved.status == plain.status


# A pose that folds exactly or closes has a mirror image in every plane through its line.
@pytest.mark.parametrize(
    ("kind", "pose"),
    [
        *(("moved", pose) for pose in chains.POSES),
        *(("mirrored", pose) for pose in ("random", "straight", "arc")),
    ],
)
@every_solver
def test_the_solution_moves_with_the_problem(count, solver, kind, pose):
    rng = make_rng(1)
    for chain, goal in problems(count, pose):
        assert_moves_along(chain, goal, MOTIONS[kind](rng), solver)


@every_solver
def test_flips_and_bones_turn_with_the_problem(count, solver):
    rng = make_rng(4)
    for chain, goal in problems(count, "arc"):
        assert_moves_along(chain, goal, mirror(rng), solver, use_flip_bend=True)
        motion = rigid(rng)
        plain, moved, moved_chain = solve_both(chain, goal, motion, solver)
        turn = rotation.quaternion_from_matrix(motion.linear)
        rotations = bone_rotations(chain, plain)
        expected = rotation.multiply(turn, rotation.multiply(rotations, rotation.conjugate(turn)))
        assert_rotations_close(bone_rotations(moved_chain, moved), expected, SAME_ROTATION)


@every_solver
def test_a_power_of_two_scales_the_solution_to_the_last_bit(count, solver):
    # With the root at the origin nothing is rounded when the solver moves the chain there.
    for chain, goal in problems(count, "arc"):
        at_origin = Motion(np.eye(3), -chain.joint_positions[0])
        chain, goal = at_origin.chain(chain), at_origin.goal(goal)
        scale = Motion(0.0625 * np.eye(3), np.zeros(3), 0.0625)
        plain, scaled, _ = solve_both(chain, goal, scale, solver)
        assert np.array_equal(scaled.joint_positions, 0.0625 * plain.joint_positions)
        assert scaled.iterations == plain.iterations


# From the dead zone's edge (0) to full reach (1), and beyond both; exactly at the edges rounding
# chooses the closed form of the closest pose, or a pose bent within the tolerance.
SHARES_OF_REACH = (-0.2, 0.02, 0.15, 0.6, 0.95, 1.4)
# The effector is within the tolerance of the target, and a second solve turns the chain by this
# error: for a target at 1/50 of the length, by 50 times the tolerance as an angle.
STILL = 100.0 * TOLERANCE
# In a nearly straight pose the side of the bend is a small difference of the joints' coordinates.
NOT_TURNED = 1e-4


def restart_from(chain, solution):
    """Return the chain with a solution as its start pose."""
    return Chain(solution.joint_positions, chain.bend_direction)


def goals(chain, rng):
    """Yield goals near and far, with and without a pole."""
    for share in SHARES_OF_REACH:
        distance = chain.min_reach + share * (chain.max_reach - chain.min_reach)
        if distance > 0.0:
            target = chains.target_at(chain, distance, chains.random_direction(rng))
            yield Goal(target)
            yield Goal(target, chains.pole_beside(chain, target, rng))


@pytest.mark.parametrize("pose", chains.POSES)
@every_solver
def test_a_solved_chain_stays_where_it_is(count, solver, pose):
    rng = make_rng(count)
    chain = chains.start_chain(pose, count, rng, ratio=4.0 if pose in ("random", "arc") else 1.0)
    distance = STILL * chain.max_reach
    for goal in goals(chain, rng):
        first = chains.solved(chain, goal, solver, TOLERANCE)
        restarted = restart_from(chain, first)
        second = chains.solved(restarted, goal, solver, TOLERANCE)
        assert_positions_close(second.joint_positions, first.joint_positions, distance)
        assert second.status == first.status
        assert second.iterations == 0
        if pose == "arc" and first.is_converged:
            # Joints on one line would not show the turn of the chain about this line.
            unturned = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
            assert_rotations_close(bone_rotations(restarted, second), unturned, NOT_TURNED)
    for _ in range(10):
        restarted = restart_from(chain, chains.solved(restarted, goal, solver, TOLERANCE))
    assert_positions_close(restarted.joint_positions, first.joint_positions, distance)


@pytest.mark.parametrize(("use_flip", "angle"), [(True, 0.0), (False, 1.0), (True, -2.0)])
@every_solver
def test_a_chain_that_keeps_its_start_stays_on_its_side_of_a_pole(count, solver, use_flip, angle):
    chain = chains.start_chain("random", count, make_rng(count))
    along, aside, _ = chains.random_frame(make_rng(count + 1)).T
    target, options = (
        chains.target_at(chain, 0.7 * chain.max_reach, along),
        {"use_flip_bend": use_flip},
    )
    for off in np.radians([0.0, 5.0, 90.0]):
        pole = chains.target_at(
            chain, 2.0 * chain.max_reach, np.cos(off) * along + np.sin(off) * aside
        )
        goal = Goal(target, pole, angle)
        first = chains.solved(chain, goal, solver, TOLERANCE, keeps_start=True, **options)
        second = chains.solved(
            restart_from(chain, first), goal, solver, TOLERANCE, keeps_start=True, **options
        )
        distance = STILL * chain.max_reach
        assert_positions_close(second.joint_positions, first.joint_positions, distance)
    # A pole far beside the line determines the side alone, whatever the start pose is.
    keyed = chains.solved(chain, goal, solver, TOLERANCE, **options)
    sides = [chains.unit(chains.side_of(one.joint_positions, target)) for one in (first, keyed)]
    assert_positions_close(*sides, NOT_TURNED)
