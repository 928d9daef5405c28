"""Chains in planes straight to the turns of their bones: the same as solving for joints, then
swinging bone by bone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import (
    Chain,
    Chains,
    Goal,
    Goals,
    SinglePlanarTurns,
    SolveOptions,
    Solver,
    Status,
    bone_rotations,
    planar_turns,
    rotation,
    solve,
)
from blender_ik_addon.core.status_codes import STATUSES
from tests.core.chains import pole_beside, random_direction, start_joints, target_at, uneven_lengths
from tests.core.test_planar import planar_joints
from tests.helpers import assert_rotations_close, make_rng

EXACT = 1e-12
CHAINS = 7
# A turn of a chain's tip adds up those of the bones before it.
OF_TURNS = 1e-11
# Nearer to a half turn than this cosine of half the angle, the axis of a swing is not known.
NEARLY_OPPOSITE = 1e-2
# None at full reach itself: there the last digit decides whether a chain bends, and by its root.
SHARES = (0.02, 0.3, 0.7, 0.97, 0.9999, 1.0 + 1e-9, 1.3)
POSES = ("planar", "straight", "arc", "closed")
ways_to_bend = pytest.mark.parametrize(
    ("use_pole", "use_flip"), [(False, False), (True, False), (False, True), (True, True)]
)


class Limb:
    """A chain in a plane with bones that lie any way, and perhaps one beyond its effector."""

    def __init__(self, seed, count, pose="planar", *, ratio=3.0, beyond=0):
        self.rng = rng = make_rng(seed)
        if pose == "planar":
            joints = planar_joints(count, rng, ratio)
        else:
            joints = start_joints(pose, uneven_lengths(count, ratio, rng), rng)
        self.chain = Chain(joints, random_direction(rng))
        self.own = rotation.normalised(rng.normal(size=(count + beyond, 4)))
        self.frames = rotation.normalised(rng.normal(size=(count + beyond, 4)))
        self.frames[0] = 1.0, 0.0, 0.0, 0.0
        self.solver = Solver.TWO_BONE if count == 2 else Solver.NEWTON

    def goal(self, share, *, use_pole=False):
        """Return a goal at a share of the chain's length, in any direction."""
        target = target_at(self.chain, share * self.chain.max_reach, random_direction(self.rng))
        if not use_pole:
            return Goal(target)
        return Goal(target, pole_beside(self.chain, target, self.rng), self.rng.uniform(-7.0, 7.0))

    def options(self, *, use_flip=False, soft=0.0):
        """Return options with a tolerance that asks for many digits."""
        reach = self.chain.max_reach
        return SolveOptions(
            solver=self.solver,
            tolerance=1e-10 * reach,
            use_flip_bend=use_flip,
            soft_distance=soft * reach,
        )

    def alone(self, goal, options):
        """Return what turns this chain alone."""
        compiled = SinglePlanarTurns(self.chain, self.own, self.frames)
        pole = None if goal.pole_position is None else tuple(goal.pole_position.tolist())
        target = tuple(goal.target_position.tolist())
        return compiled.solved(target, pole, goal.pole_angle, options)

    def armature_turns(self, own):
        """Return what own rotations turn the bones by in armature space, shape (k, 4)."""
        turns = [rotation.multiply(own[0], rotation.conjugate(self.own[0]))]
        for frame, before, after in zip(self.frames[1:], self.own[1:], own[1:], strict=True):
            posed = rotation.multiply(rotation.multiply(turns[-1], frame), after)
            start = rotation.multiply(frame, before)
            turns.append(rotation.multiply(posed, rotation.conjugate(start)))
        return np.array(turns)


def beside(limbs, goals, options):
    """Return what turns chains side by side."""
    chains = Chains(
        np.array([limb.chain.joint_positions for limb in limbs]),
        np.array([limb.chain.bend_direction for limb in limbs]),
    )
    has_poles = goals[0].pole_position is not None
    asked = Goals(
        np.array([goal.target_position for goal in goals]),
        np.array([goal.pole_position for goal in goals]) if has_poles else None,
        np.array([goal.pole_angle for goal in goals]),
    )
    compiled = planar_turns(
        chains, np.array([limb.own for limb in limbs]), np.array([limb.frames for limb in limbs])
    )
    together = SolveOptions(
        solver=limbs[0].solver,
        tolerance=np.array([each.tolerance for each in options]),
        use_flip_bend=np.array([each.use_flip_bend for each in options]),
        soft_distance=np.array([each.soft_distance for each in options]),
    )
    return compiled.solved(asked, together)


def turns_over(limb, solution, turns):
    """Return whether any bone swings by about a half turn, whose axis rounding decides."""
    segments = np.diff(limb.chain.joint_positions, axis=0)
    before = np.vstack((solution.chain_rotation_wxyz, turns[:-1]))
    carried = rotation.rotate(before, segments)
    wanted = np.diff(solution.joint_positions, axis=0)
    sizes = np.linalg.norm(segments, axis=1)
    return (np.linalg.norm(carried + wanted, axis=1) < 2.0 * NEARLY_OPPOSITE * sizes).any()


def assert_as_solved(limb, goal, options, local, gap, residual, status):
    """Assert that a chain turns as ``solve`` and ``bone_rotations`` say; return if that is told."""
    solution = solve(limb.chain, goal, options)
    segments = np.diff(limb.chain.joint_positions, axis=0)
    count, reach = len(segments), limb.chain.max_reach
    turns = limb.armature_turns(local)
    np.testing.assert_allclose(np.linalg.norm(local, axis=1), 1.0, rtol=0.0, atol=EXACT)
    joints = np.vstack((np.zeros(3), np.cumsum(rotation.rotate(turns[:count], segments), axis=0)))
    found = solution.joint_positions - solution.joint_positions[0]
    np.testing.assert_allclose(joints, found, rtol=0.0, atol=OF_TURNS * reach)
    gone = goal.target_position - solution.joint_positions[-1]
    np.testing.assert_allclose(gap, gone, rtol=0.0, atol=OF_TURNS * reach)
    assert residual == pytest.approx(solution.residual, rel=0.0, abs=OF_TURNS * reach)
    assert status is solution.status
    np.testing.assert_allclose(local[count:], limb.own[count:], rtol=0.0, atol=EXACT)
    expected = bone_rotations(limb.chain, solution)
    if turns_over(limb, solution, expected):
        return False
    assert_rotations_close(turns[:count], expected, OF_TURNS)
    return True


@ways_to_bend
@pytest.mark.parametrize("pose", POSES)
@pytest.mark.parametrize("count", [2, 3, 10])
def test_chains_turn_as_solving_them_says(count, pose, use_pole, use_flip):
    limbs = [Limb(seed, count, pose, beyond=use_flip) for seed in range(CHAINS)]
    goals = [limb.goal(share, use_pole=use_pole) for limb, share in zip(limbs, SHARES, strict=True)]
    options = [limb.options(use_flip=use_flip) for limb in limbs]
    many = beside(limbs, goals, options)
    told = []
    for i, limb in enumerate(limbs):
        rest = limb, goals[i], options[i]
        gap = np.zeros(3) if many.gaps is None else many.gaps[i]
        status = STATUSES[int(many.status_codes[i])]
        told.append(assert_as_solved(*rest, many.local_wxyz[i], gap, many.residuals[i], status))
        assert many.iterations[i] == solve(*(limb.chain, *rest[1:])).iterations
        if limb.solver is Solver.NEWTON:
            one = limb.alone(goals[i], options[i])
            assert_as_solved(*rest, one.local_wxyz, one.gap, one.residual, one.status)
            assert one.iterations == many.iterations[i]
    assert any(told)


@settings(max_examples=200)
@given(
    seed=st.integers(0, 100_000),
    count=st.integers(2, 12),
    share=st.one_of(st.floats(0.01, 0.999), st.floats(1.0 + 1e-9, 1.5)),
    soft=st.sampled_from([0.0, 0.1]),
    use_pole=st.booleans(),
    use_flip=st.booleans(),
)
def test_any_chain_turns_as_solving_it_says(seed, count, share, soft, use_pole, use_flip):
    # No round number either: two bones of it would fold just at a share that is drawn often.
    limb = Limb(seed, count, ratio=2.9)
    goal, options = limb.goal(share, use_pole=use_pole), limb.options(use_flip=use_flip, soft=soft)
    many = beside([limb], [goal], [options])
    gap = np.zeros(3) if many.gaps is None else many.gaps[0]
    status = STATUSES[int(many.status_codes[0])]
    assert_as_solved(limb, goal, options, many.local_wxyz[0], gap, many.residuals[0], status)
    if limb.solver is Solver.NEWTON:
        one = limb.alone(goal, options)
        assert_as_solved(limb, goal, options, one.local_wxyz, one.gap, one.residual, one.status)


def test_some_of_the_chains_turn_as_among_all_of_them():
    limbs = [Limb(seed, 5) for seed in range(CHAINS)]
    goals = [limb.goal(0.7, use_pole=True) for limb in limbs]
    chains = Chains(np.array([limb.chain.joint_positions for limb in limbs]))
    frames = np.array([limb.frames for limb in limbs])
    compiled = planar_turns(chains, np.array([limb.own for limb in limbs]), frames)
    rows = np.array([5, 1, 3])
    asked = Goals(
        np.array([goals[row].target_position for row in rows]),
        np.array([goals[row].pole_position for row in rows]),
    )
    found = compiled.take(rows).solved(asked, SolveOptions(tolerance=1e-9))
    for i, row in enumerate(rows):
        own = SolveOptions(tolerance=1e-9)
        goal = Goal(goals[row].target_position, goals[row].pole_position)
        limb = limbs[row]
        limb.chain = chains.alone(row)
        expected = limb.alone(goal, own)
        assert_rotations_close(found.local_wxyz[i], expected.local_wxyz, OF_TURNS)
        assert STATUSES[int(found.status_codes[i])] is expected.status is Status.REACHED


def test_a_chain_that_stays_keeps_its_own_rotations():
    for pose in POSES:
        limb = Limb(4, 6, pose)
        goal, options = Goal(limb.chain.joint_positions[-1]), limb.options()
        allowed = 1e-7 if pose == "straight" else EXACT
        assert_rotations_close(limb.alone(goal, options).local_wxyz, limb.own, allowed)
        assert_rotations_close(beside([limb], [goal], [options]).local_wxyz[0], limb.own, allowed)


@pytest.mark.parametrize("off", [1e-9, 1e-7])
@pytest.mark.parametrize("count", [2, 3, 10])
def test_chains_near_planes_turn_as_solving_them_says_up_to_how_near_they_are(count, off):
    for seed in range(5):
        limb = Limb(seed, count)
        reach, joints = limb.chain.max_reach, limb.chain.joint_positions
        joints = joints + off * reach * limb.rng.uniform(-1.0, 1.0, joints.shape)
        limb.chain = Chain(joints, limb.chain.bend_direction)
        off_plane = float(limb.chain.start.off_plane[0])
        assert off_plane > 0.05 * off or count < 4
        goal, options = limb.goal(0.6, use_pole=True), limb.options()
        solution = solve(limb.chain, goal, options)
        found = [beside([limb], [goal], [options]).local_wxyz[0]]
        if limb.solver is Solver.NEWTON:
            found.append(limb.alone(goal, options).local_wxyz)
        segments = np.diff(joints, axis=0)
        for local in found:
            turned = rotation.rotate(limb.armature_turns(local), segments)
            apart = np.cumsum(turned, axis=0) - (solution.joint_positions[1:] - joints[0])
            # Off the plane at the start, at the end, and by what that makes of the bend.
            assert np.linalg.norm(apart, axis=1).max() <= 10.0 * off_plane * reach + EXACT


def test_a_target_on_the_root_is_missed_by_what_it_is_off():
    limb = Limb(3, 3)
    off = 1e-11 * limb.chain.max_reach * random_direction(limb.rng)
    goal = Goal(limb.chain.joint_positions[0] + off)
    options = SolveOptions(solver=Solver.NEWTON, tolerance=0.0)
    expected = solve(limb.chain, goal, options).residual
    assert expected > 0.0
    one, many = limb.alone(goal, options), beside([limb], [goal], [options])
    np.testing.assert_allclose([one.residual, many.residuals[0]], expected, rtol=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_a_chain_whose_side_is_hardly_told_turns_in_its_plane_all_the_same(seed):
    # Its bulge is so small that rounding turns the plane: a leg like a Z, and a ring nearly closed.
    rng = make_rng(seed)
    z_leg = np.array((1.0, 1.7, 1.0003))[:, None] * _pointing((0.0, 1.2, 0.0))
    ring = _pointing(2.0 * np.pi * np.arange(12) / 12.0 * (1.0 - 1e-6))
    for segments in (z_leg, ring):
        turn = rotation.normalised(rng.normal(size=4))
        joints = np.cumsum(np.vstack((np.zeros(3), rotation.rotate(turn, segments))), axis=0)
        limb = Limb(seed, len(segments))
        limb.chain = Chain(joints, random_direction(rng))
        assert limb.chain.start.off_plane[0] < 1e-9
        goal, options = limb.goal(0.5), limb.options()
        one = limb.alone(goal, options)
        assert_as_reached(limb, goal, one.local_wxyz)
        assert_as_reached(limb, goal, beside([limb], [goal], [options]).local_wxyz[0])


def _pointing(angles):
    """Return unit vectors in a plane at angles."""
    angles = np.asarray(angles)
    return np.stack((np.zeros_like(angles), np.cos(angles), np.sin(angles)), axis=1)


def assert_as_reached(limb, goal, local):
    """Assert that a chain's own rotations bring its effector to a target."""
    segments = np.diff(limb.chain.joint_positions, axis=0)
    tip = rotation.rotate(limb.armature_turns(local), segments).sum(axis=0)
    off = tip + limb.chain.joint_positions[0] - goal.target_position
    assert np.linalg.norm(off) <= 1e-8 * limb.chain.max_reach
