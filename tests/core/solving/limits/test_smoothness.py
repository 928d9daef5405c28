"""A small step of the target gives a small step of limited joints; chains do not zig-zag."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Chains,
    Forces,
    Goals,
    Joints,
    SolveOptions,
    Solver,
    Status,
    solve_batch,
)
from tests.core.chains import ITERATIVE, Array, pole_error_degrees, unit
from tests.core.limited_rigs import (
    RIGS,
    K,
    Rig,
    at_rest,
    make_rig,
    poles_beside,
    quaternion,
    rolled_offsets,
)
from tests.helpers import angles_between, make_rng

pytestmark = pytest.mark.slow

# Radians of a joint per target step of one length; a straight finger's tip joint would turn 2.
STEEPEST = 50.0
STEP = 0.001


def joint_steps(poses: Sequence[Array]) -> Array:
    """Return the largest turn of any bone from each pose to the next."""
    return angles_between(poses[:-1], poses[1:]).max(axis=1)


NAMES = ("arm", "tail", "ten_hinges", "spider_leg", "finger")
# A pole that the joints cannot follow has two or more poses that are almost equally good, and the
# sweeps of FABRIK have more than one end: a small step can change from one to another. The largest
# jumps in radians; measured: 0.052, 1.294, 0.453, 0.084, 0.152, 1.396, 0.098.
JUMPS = {
    ("arm", True, Solver.FABRIK): 0.1,
    ("spider_leg", True, Solver.FABRIK): 1.4,
    ("spider_leg", True, Solver.FORCE): 0.6,
    ("ten_hinges", True, Solver.NEWTON): 0.2,
    ("finger", False, Solver.FABRIK): 0.2,
    ("finger", True, Solver.FABRIK): 1.5,
    ("finger", True, Solver.CCD): 0.2,
}
# The largest difference in degrees of the sides of almost equally good poses; measured: 0.19.
AS_GOOD = 1.0


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "has_pole", "solver"), [*itertools.product(NAMES, [False, True], ITERATIVE)]
)
def test_a_small_target_step_is_a_small_joint_step_or_leads_to_a_pose_as_good(
    name: str, has_pole: bool, solver: Solver
) -> None:
    rig, rng, paths, poles = RIGS[name](), make_rng(51), [], []
    while len(paths) < 4:
        middle = rig.points(rig.random_pose(rng, 0.6))[-1]
        # A target on the yaw axis of the root is a true singularity: the limb can yaw freely.
        if np.hypot(middle[0], middle[2]) < 0.2 * rig.length:
            continue
        steps = rig.length * STEP * np.arange(11)
        paths.append(middle + steps[:, None] * unit(rng.normal(size=3)))
        poles.append(poles_beside(middle[None], rig.length, rng)[0] if has_pole else None)
    options = SolveOptions(solver, tolerance=1e-8 * rig.length)
    goals = Goals(np.vstack(paths), np.repeat(poles, 11, axis=0) if has_pole else None)
    solutions = solve_batch(rig.chains(44), goals, options)
    assert solutions.is_converged.all()
    for path, pole, rows in zip(paths, poles, np.arange(44).reshape(4, 11), strict=True):
        moved = joint_steps(solutions.local_rotations_wxyz[rows])
        assert moved.max() <= JUMPS.get((name, has_pole, solver), STEEPEST * STEP)
        is_jump = moved > STEEPEST * STEP
        if has_pole and is_jump.any():
            ends = zip(solutions.joint_positions[rows], path, strict=True)
            differences = np.abs(np.diff([pole_error_degrees(*end, pole) for end in ends]))[is_jump]
            assert (differences <= AS_GOOD).all(), np.round(differences, 2)


@pytest.mark.parametrize("name", ["finger", "planar_four"])
def test_the_pose_does_not_jump_to_be_slightly_nearer_to_a_target_out_of_reach(name: str) -> None:
    # Measured: 0.011 and 0.013 radians; 0.09 and 2.8 if the solver takes any nearer pose.
    rig, rng = RIGS[name](), make_rng(53)
    options = SolveOptions(Solver.NEWTON, tolerance=1e-5 * rig.length)
    for share in rng.uniform(0.2, 1.3, 8):
        first = share * rig.length * unit(rng.normal(size=3))
        step = rig.length * STEP * unit(rng.normal(size=3))
        targets = first + np.arange(11)[:, None] * step
        solutions = solve_batch(rig.chains(11), Goals(targets), options)
        assert solutions[0].status is not Status.REACHED
        assert joint_steps(solutions.local_rotations_wxyz).max() <= STEEPEST * STEP


def bends_and_zigzag(joints: Array) -> tuple[float, float]:
    """Return the largest bend in degrees, and the share of bends to the opposite side."""
    directions = unit(np.diff(joints, axis=0))
    normals = np.cross(directions[:-1], directions[1:])
    sizes = np.linalg.norm(normals, axis=1)
    cosines = np.einsum("ij,ij->i", directions[:-1], directions[1:])
    bends = np.degrees(np.arctan2(sizes, cosines))
    pairs = np.einsum("ij,ij->i", normals[:-1], normals[1:])
    is_bent = (bends[:-1] > 1.0) & (bends[1:] > 1.0)
    return bends.max(), np.mean((pairs < 0.0) & is_bent)


def ten(root: float | None = 40.0) -> Rig:
    """Return ten bones that turn by 40 degrees to each side, the root by other limits."""
    first = () if root is None else ((-root, root),) * 3
    return make_rig([(K.BALL, first), *[(K.BALL, ((-40, 40),) * 3)] * 9], np.full(10, 0.1))


def radial(root: float | None) -> tuple[Rig, Array]:
    """Return ten bones, and targets on a straight path toward their root."""
    return ten(root), np.linspace(0.95, 0.2, 91)[:, None] * unit([0.4, 0.8, 0.2])


def circle() -> tuple[Rig, Array]:
    """Return ten bones, and targets on a circle."""
    angles = np.linspace(0.0, 2.0 * np.pi, 91)
    sides = 0.2 * np.cos(angles), np.full(91, 0.6), 0.2 * np.sin(angles)
    return ten(), np.stack(sides, axis=1)


def planar() -> tuple[Rig, Array]:
    """Return ten hinges, the first with a larger range, and targets toward their root."""
    bones = [(K.HINGE_X, ((-90, 90),))] + [(K.HINGE_X, ((-40, 40),))] * 9
    shares = np.linspace(0.95, 0.2, 101)
    return make_rig(bones, np.full(10, 0.1)), shares[:, None] * unit([0.0, 0.9, 0.4])


# Paths, and the largest bend in degrees: at 0.1 of the length a regular polygon bends by 32.7. If
# the root cannot turn far enough, the bends grow toward the tip, to 39.8; of shapes that bend to
# one side only, the most even one would bend by 34.4.
PATHS = {
    "radial": (lambda: radial(None), 35.0),
    "radial, root limited too": (lambda: radial(40.0), 40.0),
    "circle": (circle, np.inf),
    "planar": (planar, 35.0),
}
# Radians of a joint per target step of one length; measured: 5.3.
EVEN_STEP = 10.0


@pytest.mark.parametrize("path", PATHS)
def test_along_a_path_newton_moves_and_bends_evenly_without_zigzag(path: str) -> None:
    make, most_bend = PATHS[path]
    rig, targets = make()
    options = SolveOptions(Solver.NEWTON, tolerance=1e-6)
    solutions = solve_batch(rig.chains(len(targets)), Goals(targets), options)
    assert solutions.residual.max() <= 1e-6
    poses = solutions.local_rotations_wxyz
    step = np.linalg.norm(targets[1] - targets[0])
    assert joint_steps(poses).max() / step <= EVEN_STEP
    if path == "circle":
        assert joint_steps([poses[0], poses[-1]]).max() <= 1e-6, "the circle closes"
    shapes = [bends_and_zigzag(solution.joint_positions) for solution in solutions]
    bend, zigzag = np.max(shapes, axis=0)
    assert zigzag == 0.0
    assert bend <= most_bend


@pytest.mark.parametrize("solver", [Solver.NEWTON, Solver.FABRIK, Solver.CCD])
@pytest.mark.parametrize("roll", [5, 8, 12, 20])
def test_a_leg_out_of_reach_does_not_spin_if_its_knee_turns_off_the_plane_of_its_bend(
    roll: int, solver: Solver
) -> None:
    """Steps of 4 mm turned bones by 26 degrees.

    With NEWTON the pole was weighed against the distance; sweeps left any twist.
    """
    points = np.array([(0.0, 0.0, 0.0), (0.0, 0.22, 0.0), (0.0, 0.38, 0.21), (0.0, 0.61, 0.27)])
    offsets = rolled_offsets(points, np.radians((0, roll, 0)))
    start = np.tile((1.0, 0.0, 0.0, 0.0), (1, 3, 1))
    low, high = np.full((1, 3, 3), -np.inf), np.full((1, 3, 3), np.inf)
    low[0, 1, 0], high[0, 1, 0] = -2.48, 0.32
    joints = Joints((K.BALL, K.HINGE_X, K.BALL), offsets[None], start, low, high)
    shares = np.linspace(0.0, 1.0, 41)[:, None]
    targets = (0.1, 0.604, 0.514) + shares * (0.0, 0.071, -0.143)
    poles = (0.013, 0.47, -0.555) + shares * (-0.009, -0.12, -0.083)
    chains = Chains(points[None], joints=joints).take(np.zeros(41, dtype=np.int64))
    options = SolveOptions(solver, soft_distance=0.0145, stays_near=True)
    solutions = solve_batch(chains, Goals(targets, poles), options)
    assert all(solution.status is not Status.REACHED for solution in solutions)
    assert joint_steps(solutions.local_rotations_wxyz).max() < np.radians(3.0)


@pytest.mark.parametrize("solver", [Solver.NEWTON, Solver.FABRIK, Solver.CCD])
@pytest.mark.parametrize("roll", [0, 2, 5, 12, 20])
def test_an_arm_does_not_roll_on_its_way_to_full_reach_if_its_elbow_bends_off_its_axis(
    roll: int, solver: Solver
) -> None:
    """In steps of a millimetre from nine tenths of the length to beyond it.

    Arms turned by up to 85 degrees where the elbow came to its end: what was left of the bend had
    to face the pole, until limits held the target back.
    """
    bend = np.radians(20.0)
    points = np.array(
        [(0, 0, 0), (0, 0.45, 0), (0, 0.45 + 0.42 * np.cos(bend), -0.42 * np.sin(bend))]
    )
    offsets = rolled_offsets(points, np.radians((0, roll)))[None]
    low, high = np.full((1, 2, 3), -np.inf), np.full((1, 2, 3), np.inf)
    low[0, 1, 0], high[0, 1, 0] = -2.6, bend
    start = np.tile((1.0, 0.0, 0.0, 0.0), (1, 2, 1))
    joints = Joints((K.BALL, K.HINGE_X), offsets, start, low, high)
    distances = np.arange(0.78, 0.92, 0.001)[:, None]
    chains = Chains(points[None], joints=joints).take(np.zeros(len(distances), dtype=np.int64))
    goals = Goals(distances * unit(np.array((0.2, 0.9, -0.1))), np.tile((0.1, 0.5, 2.0), (140, 1)))
    solutions = solve_batch(chains, goals, SolveOptions(solver, soft_distance=0.0145))
    assert Status.REACHED in solutions.statuses
    assert Status.REACHED is not solutions.statuses[-1]
    steps = joint_steps(solutions.local_rotations_wxyz)
    assert steps.max() < np.radians(2.5)
    assert steps.sum() < np.radians(60.0)


def excavator(column: float, *, has_ranges: bool, slew: tuple[float, float] | None = None) -> Rig:
    """Return a column that slews, a boom and a stick that hangs from it at rest."""
    boom, stick = (((-60, 45),), ((-110, 20),)) if has_ranges else ((), ())
    slews = () if slew is None else (slew,)
    return make_rig(
        [(K.HINGE_Y, slews), (K.HINGE_X, boom), (K.HINGE_X, stick)],
        (column, 5.0, 3.13),
        bends=((0, 0.0), (0, 39.0), (0, 75.0)),
    )


@pytest.mark.parametrize("solver", [Solver.NEWTON, Solver.FORCE])
@pytest.mark.parametrize("has_ranges", [True, False])
@pytest.mark.parametrize("column", [0.3, 0.5, 1.0, 1.5])
def test_an_arm_of_hinges_keeps_the_side_of_its_elbow_up_to_full_reach(
    column: float, has_ranges: bool, solver: Solver
) -> None:
    """Steps of 2 cm turned the stick by 70 degrees to the other side of the boom.

    The column counted as a bone that bends: it cannot, so the stick bent past the boom instead.
    """
    rig = excavator(column, has_ranges=has_ranges)
    forces = Forces(np.full(3, 0.5)) if solver is Solver.FORCE else None
    chain = Chain(rig.points(at_rest(3)), joints=rig.joints(), forces=forces)
    rng, count = make_rng(54), 200
    for height in (0.0, 2.0, 4.0):
        azimuth = rng.uniform(-np.pi, np.pi)
        # The distances from the head of the boom are up to 0.995 of full reach.
        far = np.sqrt((0.995 * 8.13) ** 2 - (height - column) ** 2)
        out = np.linspace(far - 4.0, far, count)
        targets = np.stack(
            (out * np.sin(azimuth), np.full(count, height), out * np.cos(azimuth)), axis=1
        )
        chains = chain.as_batch().take(np.zeros(count, dtype=np.int64))
        solutions = solve_batch(chains, Goals(targets), SolveOptions(solver, tolerance=1e-6))
        poses = solutions.local_rotations_wxyz
        is_reached = solutions.is_converged
        assert is_reached.all() or has_ranges
        # In line with the boom the stick is at -75 degrees.
        stick = np.degrees(2.0 * np.arctan2(poses[:, 2, 1], poses[:, 2, 0]))
        assert stick[is_reached].min() > -75.0
        both = is_reached[1:] & is_reached[:-1]
        assert joint_steps(poses)[both].max() < np.radians(3.0)


def test_an_arm_of_hinges_that_cannot_slew_to_its_target_reaches_back_over_its_column() -> None:
    # Restarts found other poses, and sometimes none.
    rig, rng = excavator(1.0, has_ranges=False, slew=(-70.0, 70.0)), make_rng(55)
    azimuth, out, up = rng.uniform(115.0, 245.0, 100), rng.uniform(3.0, 5.0, 100), rng.uniform(2, 5)
    angle = np.radians(azimuth)
    targets = np.stack((out * np.sin(angle), np.full(100, up), out * np.cos(angle)), axis=1)
    solutions = solve_batch(rig.chains(100), Goals(targets), rig.options(Solver.NEWTON))
    assert solutions.is_converged.all()
    poses = solutions.local_rotations_wxyz
    column = np.degrees(2.0 * np.arctan2(poses[:, 0, 2], poses[:, 0, 0]))
    np.testing.assert_allclose(column, azimuth - 180.0, atol=0.1)
    assert solutions.iterations.max() <= 10


def test_a_tip_that_turns_a_little_seldom_leads_to_another_pose() -> None:
    # Measured: 19 of 948 steps; 84 if NEWTON leaves goals to steps with curvature after two
    # iterations that gain a third.
    rig, rng, far_steps = RIGS["offset_bones"](), make_rng(50), 0
    rest = rig.frames(at_rest(len(rig.kinds)))[-1]
    for _ in range(12):
        start, end = rig.random_pose(rng), rig.random_pose(rng)
        end = np.where((start * end).sum(axis=1, keepdims=True) < 0.0, -end, end)
        posed = unit(start + np.linspace(0.0, 0.25, 80)[:, None, None] * (end - start))
        tips = [quaternion(frame @ rest.T) for frame in rig.frames(posed)[-1]]
        goals = Goals(rig.points(posed)[:, -1], tip_rotation_wxyz=np.array(tips))
        solutions = solve_batch(rig.chains(80), goals, rig.options(Solver.NEWTON))
        moved = joint_steps(solutions.local_rotations_wxyz)
        far_steps += np.sum(moved > 10.0 * joint_steps(posed) + np.radians(3.0))
    assert far_steps <= 35


@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize("solver", ITERATIVE)
def test_last_digits_of_a_target_out_of_reach_do_not_bend_a_soft_limb(
    solver: Solver, count: int
) -> None:
    """A soft target far out of reach is at full reach up to rounding; the knee moved by 5e-4."""
    rig = make_rig([(K.BALL, ()), (K.HINGE_X, ((-10, 150),))], (0.5, 0.45), bends=((0, -4), (0, 8)))
    rng = make_rng(56)
    options = rig.options(solver, soft_distance=0.004, stays_near=True)
    for direction in rng.normal((0.0, 4.0, 0.0), 1.0, (6, 3)):
        targets = 1.3 * rig.length * unit(direction) + rng.normal(scale=1e-7, size=(12, 3))
        poles = np.tile([rng.normal(scale=0.3), 0.3, -2.0], (12, 1))
        knees = [
            solve_batch(rig.chains(count), Goals(*goals), options).joint_positions[:, 1]
            for goals in zip(
                *(np.split(points, 12 // count) for points in (targets, poles)), strict=True
            )
        ]
        assert np.ptp(np.concatenate(knees), axis=0).max() <= 1e-5 * rig.length
