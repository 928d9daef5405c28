"""Joints in which a bone slides along an axis, as on robot arms."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Chains,
    Goal,
    Goals,
    JointKind,
    Joints,
    SolveOptions,
    Solver,
    Status,
    solve,
    solve_batch,
)
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.model.records import join_records
from tests.helpers import make_rng

ITERATIVE = [Solver.NEWTON, Solver.FABRIK, Solver.CCD]
BALL, HINGE_X = JointKind.BALL, JointKind.HINGE_X


def sliding(
    kinds: tuple[JointKind, ...], ranges: dict[int, tuple[float, float]], **fields: np.ndarray
) -> Joints:
    """Return joints at rest in line, some of which slide."""
    count = len(kinds)
    low, high = np.zeros(count), np.zeros(count)
    for bone, ends in ranges.items():
        low[bone], high[bone] = ends
    eye, rest = np.tile(np.eye(3), (count, 1, 1)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    values = {"offsets": eye, "start_wxyz": rest} | fields
    return Joints(kinds, slide_low=low, slide_high=high, **values)


def random_chain(seed: int, ranges: dict[int, tuple[float, float]], count: int = 4) -> Chain:
    """Return a chain with random offsets, slide axes and start pose."""
    rng = make_rng(seed)
    offsets = rotation.matrix_from_quaternion(rotation.normalize(rng.normal(size=(count, 4))))
    joints = sliding(
        (BALL,) * count,
        ranges,
        offsets=offsets * rng.uniform(0.7, 1.3, (count, 1, 1)),
        start_wxyz=rotation.normalize(rng.normal(size=(count, 4))),
        slide_axes=rng.normal(size=(count, 3)),
    )
    segments = rng.normal(size=(count, 3))
    points = np.vstack((np.zeros(3), np.cumsum(segments, axis=0))) + rng.normal(size=3)
    return Chain(points, joints=joints)


def pose_points(chain: Chain, local_wxyz: np.ndarray, slides: np.ndarray) -> np.ndarray:
    """Return the positions of heads and effector, as the docstring of ``Joints`` defines them."""
    joints, points = chain.joints, chain.joint_positions
    start, posed = np.eye(3), np.eye(3)
    head = points[0] + joints.slide_axes[0] * slides[0]
    points_now = [head]
    for i, local in enumerate(local_wxyz):
        start = start @ joints.offsets[i] @ rotation.matrix_from_quaternion(joints.start_wxyz[i])
        posed = posed @ joints.offsets[i] @ rotation.matrix_from_quaternion(local)
        head = head + posed @ np.linalg.solve(start, points[i + 1] - points[i])
        if i + 1 < len(local_wxyz):
            head = head + posed @ joints.slide_axes[i + 1] * slides[i + 1]
        points_now.append(head)
    return np.array(points_now)


def test_a_slide_with_zero_out_of_its_range_starts_at_the_nearer_end():
    joints = sliding((JointKind.HINGE_Y, HINGE_X, JointKind.FIXED), {2: (0.2, 0.6)})
    chain = Chain(np.arange(4.0)[:, None] * (0.0, 1.0, 0.0), joints=joints)
    solution = solve(chain, Goal((0.0, 3.2, 0.0)), SolveOptions(tolerance=1e-9))
    assert solution.slides[2] == pytest.approx(0.2, abs=1e-9)
    assert solution.iterations == 0


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("seed", range(3))
def test_slides_and_turns_give_the_joints_as_defined(solver, seed):
    chain = random_chain(seed, {0: (-0.3, 0.4), 2: (0.1, 0.5), 3: (-0.2, 0.2)})
    target = chain.joint_positions[-1] + make_rng(seed + 50).uniform(-0.8, 0.8, 3)
    solution = solve(chain, Goal(target), SolveOptions(solver, tolerance=1e-9, iterations=300))
    assert solution.slides[[0, 2, 3]].any()
    assert solution.slides[1] == 0.0
    expected = pose_points(chain, solution.local_rotations_wxyz, solution.slides)
    np.testing.assert_allclose(solution.joint_positions, expected, atol=1e-12)


def test_a_wide_hinge_slides_along_the_same_axis_as_a_narrow_one():
    """Turns in ranges past half a turn are counted from the middle, but the slide is not turned."""
    for ends in ((-1.0, 1.0), (-0.5, 4.0)):
        joints = sliding((HINGE_X, HINGE_X), {1: (0.0, 0.5)})
        joints = replace(joints, low=np.full((2, 3), ends[0]), high=np.full((2, 3), ends[1]))
        points = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]])
        chain = Chain(points, joints=joints)
        solution = solve(chain, Goal((0.0, 0.9, 2.2)), SolveOptions(tolerance=1e-9))
        expected = pose_points(chain, solution.local_rotations_wxyz, solution.slides)
        np.testing.assert_allclose(solution.joint_positions, expected, atol=1e-12)


@pytest.mark.parametrize("solver", ITERATIVE)
def test_chains_in_a_batch_slide_as_each_alone(solver):
    alone = [random_chain(seed, {0: (-0.2, 0.2), 3: (-0.1, 0.6)}) for seed in range(7)]
    none = np.zeros(4)
    alone[3] = replace(alone[3], joints=replace(alone[3].joints, slide_low=none, slide_high=none))
    targets = np.array([c.joint_positions[-1] for c in alone]) + make_rng(5).normal(size=(7, 3))
    options = SolveOptions(solver)
    points = np.array([chain.joint_positions for chain in alone])
    joints = join_records([chain.as_batch().joints for chain in alone])
    chains = Chains(points, joints=joints)
    together = solve_batch(chains, Goals(targets), options)
    for chain, target, one in zip(alone, targets, together, strict=True):
        single = solve(chain, Goal(target), options)
        assert single.status is one.status
        np.testing.assert_allclose(one.joint_positions, single.joint_positions, atol=1e-12)
        np.testing.assert_allclose(one.slides, single.slides, atol=1e-12)
        if single.slide_holds is not None:
            assert one.slide_holds.tolist() == single.slide_holds.tolist()


@pytest.mark.parametrize("solver", [Solver.FABRIK, Solver.CCD])
def test_sweeps_start_from_the_root_after_its_slide(solver):
    """With these few iterations NEWTON does not finish the sweeps."""
    points = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.2], [0.0, 2.0, 0.0], [0.0, 3.0, 0.3]])
    chain = Chain(points, joints=sliding((BALL, BALL, BALL), {0: (0.4, 0.4)}))
    goal = Goal((0.9, 1.8, 0.4))
    solution = solve(chain, goal, SolveOptions(solver, iterations=20))
    assert solution.residual < 1e-3
    np.testing.assert_allclose(solution.joint_positions[0], (0.0, 0.4, 0.0), atol=1e-12)


@pytest.mark.parametrize("slide", [-0.2, 0.7])
def test_a_pole_is_followed_by_a_chain_that_slides(slide):
    joints = sliding((BALL, BALL, BALL), {2: (-0.5, 1.0)})
    points = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.1], [0.0, 2.0, 0.0], [0.0, 2.5, 0.0]])
    goal = Goal((0.3, 1.7 + slide, 0.4), pole_position=(3.0, 1.0, 0.0))
    solution = solve(Chain(points, joints=joints), goal, SolveOptions(tolerance=1e-9))
    assert solution.status is Status.REACHED
    chord = goal.target_position / np.linalg.norm(goal.target_position)
    sides = []
    for point in (solution.joint_positions[1:-1].mean(axis=0), goal.pole_position):
        across = point - chord * (point @ chord)
        sides.append(across / np.linalg.norm(across))
    np.testing.assert_allclose(*sides, atol=1e-4)
