"""TWO_BONE straight to the turns of the bones: the same as solving for joints and then swinging."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import (
    Chain,
    Chains,
    Goal,
    Goals,
    SolveOptions,
    Solver,
    Status,
    TwoBoneTurns,
    bone_rotations,
    planar_turns,
    rotation,
    solve,
)
from tests.core.chains import (
    POSES,
    pole_beside,
    random_direction,
    start_chain,
    start_joints,
    target_at,
    unit,
)
from tests.helpers import assert_rotations_close, make_rng

EXACT = 1e-12
LIMBS = 9
NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])
# The elbow of a limb that is a last digit short of its full length bends by the root of that.
FROM_FULL_REACH = 3e-8
# Nearer to a half turn than this cosine of half the angle, the axis of a swing is not known.
NEARLY_OPPOSITE = 1e-2
# Distances of targets as shares of the length; those of unequal bones that fold are below 0.5.
SHARES = {
    "on the root": (0.0,),
    "folded": (1e-7, 0.05, 0.3, 0.499999),
    "within": (0.500001, 0.6, 0.8, 0.97),
    "near full reach": (0.999, 0.999999, 1.0 - 1e-9, 1.0 - 1e-12),
    "too far": (1.0, 1.0 + 1e-9, 1.3, 40.0),
}
# Poses of two bones that lie flat: folding or stretching them turns bones over.
FLAT = ("straight", "folded", "closed")
poses = pytest.mark.parametrize("pose", POSES)
ratios = pytest.mark.parametrize("ratio", [1.0, 3.0])
regions = pytest.mark.parametrize("region", SHARES)
ways_to_bend = pytest.mark.parametrize(
    ("use_pole", "use_flip"), [(False, False), (True, False), (False, True), (True, True)]
)


class Limb:
    """A limb of two bones in its start pose, with bones that lie any way."""

    def __init__(self, seed, pose="random", ratio=3.0, joints=None):
        self.rng = make_rng(seed)
        self.chain = start_chain(pose, 2, self.rng, ratio)
        if joints is not None:
            self.chain = Chain(joints, random_direction(self.rng))
        self.own = rotation.normalised(self.rng.normal(size=(2, 4)))
        self.elbow_frame = rotation.normalised(self.rng.normal(size=4))

    def goal(self, share, *, use_pole=False, direction=None):
        """Return a goal at a share of the limb's length, in any direction."""
        direction = random_direction(self.rng) if direction is None else direction
        target = target_at(self.chain, share * self.chain.max_reach, direction)
        if not use_pole:
            return Goal(target)
        around = target if share else target_at(self.chain, 1.0, self.chain.start.chord[:, 0])
        pole = pole_beside(self.chain, around, self.rng)
        return Goal(target, pole, self.rng.uniform(-7.0, 7.0))

    def turned(self, goal, *, use_flip=False):
        """Return the bones' own rotations (2, 4) for a goal, and what is missing."""
        first, second = (tuple(row) for row in self.own.tolist())
        compiled = TwoBoneTurns(self.chain, (first, second), tuple(self.elbow_frame.tolist()))
        pole = None if goal.pole_position is None else tuple(goal.pole_position.tolist())
        target = tuple(goal.target_position.tolist())
        *own, missing = compiled.solved(target, pole, goal.pole_angle, use_flip=use_flip)
        return np.array(own), missing

    def armature_turns(self, own):
        """Return what own rotations turn the bones by in armature space, shape (2, 4)."""
        first = rotation.multiply(own[0], rotation.conjugate(self.own[0]))
        start = rotation.multiply(self.elbow_frame, self.own[1])
        posed = rotation.multiply(rotation.multiply(first, self.elbow_frame), own[1])
        return np.array((first, rotation.multiply(posed, rotation.conjugate(start))))


def solution_of(limb, goal, *, use_flip=False):
    tolerance = 1e-10 * limb.chain.max_reach
    options = SolveOptions(solver=Solver.TWO_BONE, tolerance=tolerance, use_flip_bend=use_flip)
    return solve(limb.chain, goal, options)


def turns_over(limb, solution):
    """Return whether any bone swings by about a half turn, whose axis rounding decides."""
    before = solution.chain_rotation_wxyz
    start, wanted = (
        unit(np.diff(joints, axis=0))
        for joints in (limb.chain.joint_positions, solution.joint_positions)
    )
    for i, turn in enumerate(bone_rotations(limb.chain, solution)):
        carried = rotation.rotate(before, start[i])
        if np.linalg.norm(carried + wanted[i]) < 2.0 * NEARLY_OPPOSITE:
            return True
        before = turn
    return False


def assert_as_solved(limb, goal, *, use_flip=False, tolerance=EXACT):
    """Assert that a limb turns as ``solve`` and ``bone_rotations`` say; return if that is told."""
    own, missing = limb.turned(goal, use_flip=use_flip)
    solution = solution_of(limb, goal, use_flip=use_flip)
    turns = limb.armature_turns(own)
    np.testing.assert_allclose(np.linalg.norm(own, axis=1), 1.0, rtol=0.0, atol=EXACT)
    segments = np.diff(limb.chain.joint_positions, axis=0)
    joints = np.vstack((np.zeros(3), np.cumsum(rotation.rotate(turns, segments), axis=0)))
    found = solution.joint_positions - solution.joint_positions[0]
    length = limb.chain.max_reach
    np.testing.assert_allclose(joints, found, rtol=0.0, atol=tolerance * length)
    assert abs(missing) == pytest.approx(solution.residual, rel=0.0, abs=20.0 * EXACT * length)
    is_told = not turns_over(limb, solution)
    if is_told:
        assert_rotations_close(turns, bone_rotations(limb.chain, solution), tolerance)
    return is_told


@ways_to_bend
@regions
@ratios
@poses
def test_a_limb_turns_as_solving_it_says(pose, ratio, region, use_pole, use_flip):
    told = []
    for share in SHARES[region]:
        for seed in range(3):
            limb = Limb(seed, pose, ratio)
            goal = limb.goal(share, use_pole=use_pole)
            told.append(assert_as_solved(limb, goal, use_flip=use_flip))
    assert any(told) or pose in FLAT


@settings(max_examples=300)
@given(
    seed=st.integers(0, 100_000),
    ratio=st.floats(1.0, 20.0),
    share=st.one_of(st.just(0.0), st.floats(1e-6, 1.5)),
    use_pole=st.booleans(),
    use_flip=st.booleans(),
)
def test_any_limb_turns_as_solving_it_says(seed, ratio, share, use_pole, use_flip):
    limb = Limb(seed, "random", ratio)
    assert_as_solved(limb, limb.goal(share, use_pole=use_pole), use_flip=use_flip)


@pytest.mark.parametrize("off", [0.0, 1e-13, 1e-9, 1e-5, 1e-2])
@ways_to_bend
def test_a_target_opposite_of_the_start_turns_the_limb_over_in_its_plane(use_pole, use_flip, off):
    for seed in range(4):
        limb = Limb(seed, "random", 1.5)
        chord = unit(limb.chain.joint_positions[-1] - limb.chain.joint_positions[0])
        aside = unit(np.cross(chord, random_direction(limb.rng)))
        goal = limb.goal(0.7, use_pole=use_pole, direction=unit(off * aside - chord))
        # Rounding of the chord decides the axis of a swing that is all but a half turn.
        tolerance = EXACT if off == 0.0 or off >= 1e-2 else EXACT + 1e-15 / off
        assert_as_solved(limb, goal, use_flip=use_flip, tolerance=tolerance)


@pytest.mark.parametrize("sine", [0.0, 0.02, 0.06, 0.1, 0.17, 0.2])
def test_a_pole_near_the_chord_turns_the_limb_as_far_as_solving_it_says(sine):
    for seed in range(6):
        limb = Limb(seed, "arc")
        target = limb.goal(0.8).target_position
        along = unit(target - limb.chain.joint_positions[0])
        aside = unit(np.cross(along, random_direction(limb.rng)))
        pole = target_at(limb.chain, 2.0, np.sqrt(1.0 - sine**2) * along + sine * aside)
        assert_as_solved(limb, Goal(target, pole, 0.4))


def test_a_limb_that_stays_keeps_its_own_rotations():
    for pose in POSES:
        for seed in range(4):
            limb = Limb(seed, pose)
            own, missing = limb.turned(Goal(limb.chain.joint_positions[-1]))
            assert_rotations_close(own, limb.own, FROM_FULL_REACH if pose in FLAT else EXACT)
            assert missing == pytest.approx(0.0, abs=EXACT)


@pytest.mark.parametrize("use_flip", [False, True])
def test_the_elbow_of_a_limb_stays_a_hinge_even_if_it_folds_flat(use_flip):
    for pose, share in (("straight", 0.1), ("straight", 0.7), ("folded", 2.0), ("arc", 0.2)):
        limb = Limb(3, pose)
        normal = np.cross(limb.chain.start.chord[:, 0], limb.chain.start.side[:, 0])
        own, _ = limb.turned(limb.goal(share, use_pole=True), use_flip=use_flip)
        first, second = limb.armature_turns(own)
        turn = rotation.multiply(rotation.conjugate(first), second)[1:]
        np.testing.assert_allclose(np.cross(turn, normal), 0.0, rtol=0.0, atol=EXACT)


MISSING = [
    ((2.0, 1.0), 3.5, 0.5, Status.EXTENDED),
    ((2.0, 1.0), 3.0, 0.0, Status.REACHED),
    ((2.0, 1.0), 2.0, 0.0, Status.REACHED),
    ((2.0, 1.0), 1.0, 0.0, Status.REACHED),
    ((2.0, 1.0), 0.25, -0.75, Status.FOLDED),
    ((1.0, 2.0), 0.25, -0.75, Status.FOLDED),
    ((1.0, 2.0), 0.0, -1.0, Status.FOLDED),
    ((1.0, 1.0), 0.25, 0.0, Status.REACHED),
    ((1.0, 1.0), 0.0, 0.0, Status.REACHED),
    ((100.0, 50.0), 175.0, 25.0, Status.EXTENDED),
    ((0.02, 0.01), 0.0025, -0.0075, Status.FOLDED),
]


@pytest.mark.parametrize(("lengths", "distance", "expected", "status"), MISSING)
def test_too_far_misses_more_than_nothing_and_too_near_less(lengths, distance, expected, status):
    joints = start_joints("arc", np.array(lengths), make_rng(1))
    limb = Limb(1, joints=joints)
    goal = Goal(target_at(limb.chain, distance, random_direction(limb.rng)))
    alone = limb.turned(goal)[1]
    beside = solved_batch([limb] * 3, [goal] * 3, [False] * 3)[1]
    tolerance = 20.0 * EXACT * sum(lengths)
    assert alone == pytest.approx(expected, rel=0.0, abs=tolerance)
    np.testing.assert_allclose(beside, abs(expected), rtol=0.0, atol=tolerance)
    assert solution_of(limb, goal).status is status


def solved_batch(limbs, goals, flips, rows=None):
    """Return the bones' own rotations (B, 2, 4) of limbs side by side, and what is missing."""
    chains = Chains(
        np.array([limb.chain.joint_positions for limb in limbs]),
        np.array([limb.chain.bend_direction for limb in limbs]),
    )
    frames = [(NOT_TURNED, limb.elbow_frame) for limb in limbs]
    compiled = planar_turns(chains, np.array([limb.own for limb in limbs]), np.array(frames))
    if rows is not None:
        compiled = compiled.take(rows)
        goals, flips = [goals[row] for row in rows], [flips[row] for row in rows]
    has_poles = goals[0].pole_position is not None
    asked = Goals(
        np.array([goal.target_position for goal in goals]),
        np.array([goal.pole_position for goal in goals]) if has_poles else None,
        np.array([goal.pole_angle for goal in goals]),
    )
    options = SolveOptions(solver=Solver.TWO_BONE, use_flip_bend=np.array(flips))
    found = compiled.solved(asked, options)
    return found.local_wxyz, found.residuals


def allowed_near_full_reach(limb, goal):
    """Return how far rotations may be apart where the last digit of a distance decides."""
    distance = np.linalg.norm(goal.target_position - limb.chain.joint_positions[0])
    gap = abs(distance / limb.chain.max_reach - 1.0)
    return EXACT + min(FROM_FULL_REACH, 1e-15 / np.sqrt(max(gap, 1e-30)))


def mixed_limbs(region, pose, *, use_pole):
    """Return limbs with goals of a region, each of its own lengths, and flips."""
    limbs = [Limb(i, pose, 1.0 if i % 3 == 0 else 3.0) for i in range(LIMBS)]
    shares = np.resize(SHARES[region], LIMBS)
    goals = [limb.goal(share, use_pole=use_pole) for limb, share in zip(limbs, shares, strict=True)]
    return limbs, goals, [i % 2 == 1 for i in range(LIMBS)]


@pytest.mark.parametrize("use_pole", [False, True])
@regions
@poses
def test_limbs_side_by_side_turn_as_alone(pose, region, use_pole):
    limbs, goals, flips = mixed_limbs(region, pose, use_pole=use_pole)
    own, missing = solved_batch(limbs, goals, flips)
    for i, limb in enumerate(limbs):
        expected, expected_missing = limb.turned(goals[i], use_flip=flips[i])
        assert_rotations_close(own[i], expected, allowed_near_full_reach(limb, goals[i]))
        length = limb.chain.max_reach
        assert missing[i] == pytest.approx(abs(expected_missing), rel=0.0, abs=EXACT * length)


@pytest.mark.parametrize("use_pole", [False, True])
def test_some_of_the_limbs_turn_as_among_all_of_them(use_pole):
    problem = mixed_limbs("within", "random", use_pole=use_pole)
    rows = np.array([7, 2, 0, 5])
    for some, whole in zip(solved_batch(*problem, rows=rows), solved_batch(*problem), strict=True):
        np.testing.assert_allclose(some, whole[rows], rtol=0.0, atol=1e-15)


def test_regions_are_mixed_side_by_side():
    limbs = [Limb(i) for i in range(3 * len(SHARES))]
    shares = [share for region in SHARES.values() for share in region[:1]] * 3
    goals = [limb.goal(share) for limb, share in zip(limbs, shares, strict=True)]
    own, _ = solved_batch(limbs, goals, [False] * len(limbs))
    for i, limb in enumerate(limbs):
        allowed = allowed_near_full_reach(limb, goals[i])
        assert_rotations_close(own[i], limb.turned(goals[i])[0], allowed)
