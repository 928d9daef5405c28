"""Restarts: chains and trees are solved again from sampled poses, and the best state is kept."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.arrays import norm
from ..algebra.nested import take_rows
from ..kinematics.compiled_joints import CompiledJoints
from ..kinematics.joint_limits import turn_joints
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import State
from ..model.joints import JointKind
from .joint_run import MAX_NEWTON_ITERATIONS, MIN_RESTART_GAIN, Run

# Seed and count of sampled poses: always the same, so a frame solved again gives the same pose. Of
# 3159 targets that limits do not allow, 17 end farther away than with all 64 samples, with other
# seeds 8 to 29. With half of the seeds some bent knees of test_reach.py do not arrive.
SEED, SAMPLES = 43, 64
# Iterations for each restart.
MAX_RESTART_ITERATIONS = 20
# Angle in radians: a chain that is farther than this from the side of its pole restarts too. A
# candidate that arrives as well replaces it if it is nearer to that side by ``MIN_RESTART_GAIN``.
SIDE_TOLERANCE = 0.02
# Bonus that ranks poses that arrive before all others, in lengths of the reach and radians.
ARRIVAL_BONUS = 10.0
# Poses are tied within this, in lengths of the reach or radians: last digits must not choose.
TIE_TOLERANCE = 1e-5


def sample_tips(tree: KinematicTree) -> Array:
    """Return where the effectors of sampled poses are, shape (E, 3, samples, B)."""
    count = tree.reach.size
    rows, samples = np.repeat(np.arange(count), SAMPLES), np.tile(np.arange(SAMPLES), count)
    repeated, turn = tree.take(rows), _sample_turns(tree.joints, rows, samples)
    tips = repeated.clamp_state(turn, repeated.joints.start_slide).posed.tips
    # Samples of one chain are side by side.
    return tips.reshape(*tips.shape[:2], count, SAMPLES).swapaxes(2, 3).copy()


def restart(
    run: Run, tips: Array, state: State, used: Counts, rows: Counts, counts: tuple[int, int]
) -> tuple[State, Counts]:
    """Solve chains or trees from sampled poses as well, side by side, and return the better states.

    Args:
        run: All of them.
        tips: As ``sample_tips`` returns them.
        state: Present states.
        used: Iterations used, shape (B,).
        rows: Rows to restart.
        counts: Of how many samples the nearest are taken, and how many of these.
    """
    part, count, present = run.take_capped(rows, MAX_NEWTON_ITERATIONS), len(rows), state.take(rows)
    (sample_count, start_count), owners = counts, np.repeat(np.arange(count), counts[1])
    samples = find_nearest(part, take_rows(tips[:, :, :sample_count], rows), start_count)
    tried = np.concatenate((owners, np.arange(count)))
    trials = part.take_capped(tried, MAX_RESTART_ITERATIONS)
    trials.iterations[len(owners) :] = MAX_NEWTON_ITERATIONS
    turn = _sample_turns(part.tree.joints, owners, samples)
    turn = np.concatenate((turn, present.turn), axis=-1)
    turn = trials.keep_roll(turn, present.turn[..., tried])
    start = trials.tree.clamp_state(turn, trials.start.slide)
    # A chain that only looks for another side has to arrive, any other one to converge.
    approach = trials.minimise_errors if part.is_open(present).any() else trials.close
    poses, iterations = approach(start, np.zeros_like(trials.iterations))
    index = np.arange(len(iterations))
    present, candidates = poses.take(index[len(owners) :]), poses.take(index[: len(owners)])
    present_used, iterations = iterations[len(owners) :], iterations[: len(owners)]
    trials = trials.take(np.arange(len(owners)))
    candidates, iterations = trials.aim(candidates, iterations)
    best, is_better = _choose_best(part, trials, candidates, present)
    poses = candidates.take(best).choose(is_better, present)
    steps = np.where(is_better, iterations[best], present_used)
    # Aims may have moved a chain that has not arrived away from its nearest pose, and a restarted
    # one has had few iterations.
    is_open = part.is_open(poses) & (is_better | (run.aims is not None))
    poses, steps = part.come_nearest(poses, steps, is_open)
    used = used.copy()
    used[rows] += steps
    return state.put(rows, poses), np.minimum(used, run.iterations)


def find_nearest(run: Run, tips: Array, starts: int) -> Counts:
    """Return which sampled poses of each chain are nearest to its targets; first the middle."""
    weighted = (tips * run.tree.sqrt_weights[:, None, None]).reshape(-1, *tips.shape[2:])
    gap = norm(run.target - weighted.swapaxes(0, 1))
    gap[0] = 0.0
    return np.argsort(gap, axis=0, kind="stable")[:starts].T.ravel()


def _sample_turns(joints: CompiledJoints, rows: Counts, samples: Counts) -> Array:
    """Return sampled turns (n, 4, R) of the joints of rows (R,), by the number of the sample.

    Sample 0 is the middle of the ranges.
    """
    middle, half = joints.find_middles()
    is_planar = set(joints.kinds) <= {JointKind.HINGE_X, JointKind.FIXED}
    share = _sample_shares(len(joints.kinds), is_planar=is_planar)[samples].transpose(1, 2, 0)
    return turn_joints(middle[..., rows] + share * half[..., rows])


@lru_cache(maxsize=64)
def _sample_shares(bones: int, *, is_planar: bool) -> Array:
    """Return places of joints in their ranges, from -1 to 1, for samples, (samples, n, 3).

    Every second sample is the mirror image of the one before, where turns about Y and Z are
    opposite, so that limbs of both sides restart alike. Joints that turn about X alone need none.
    """
    shares = np.random.default_rng(SEED).uniform(-1.0, 1.0, (SAMPLES, bones, 3))
    if not is_planar:
        shares[1::2] = shares[::2] * (1.0, -1.0, -1.0)
    # The middle of the ranges is its own mirror image; the sample beside it becomes one as well.
    shares[0], shares[1, :, 1:] = 0.0, 0.0
    return shares


def _choose_best(part: Run, trials: Run, candidates: State, present: State) -> tuple[Counts, Flags]:
    """Return the best candidate of each chain, and whether it is better than the present state."""
    count = len(part.iterations)
    # Poses that arrive rank by their side, others by their gap; of tied ones the least change.
    side, gap = trials.find_angles_past(candidates), trials.find_errors(candidates)
    has_arrived = ~trials.is_open(candidates)
    lack = np.where(
        has_arrived, np.maximum(side, SIDE_TOLERANCE) - ARRIVAL_BONUS, gap / trials.tree.reach
    )
    lack = lack.reshape(count, -1)
    is_tied = lack <= lack.min(axis=1, keepdims=True) + TIE_TOLERANCE
    # The change is the sum of the squared sines of half the angles between joints.
    cosine = np.einsum("nib,nib->nb", candidates.turn, trials.start.turn)
    change = (1.0 - cosine**2).sum(axis=0).reshape(count, -1)
    tied_change = np.where(is_tied, change, np.inf)
    best: Counts = tied_change.argmin(axis=1) + tied_change.shape[1] * np.arange(count)
    present_gap, arrived = part.find_errors(present), ~part.is_open(present)
    is_nearer = gap[best] + MIN_RESTART_GAIN * part.tree.reach < present_gap
    is_better_side = side[best] + MIN_RESTART_GAIN < part.find_angles_past(present)
    is_better = has_arrived[best] & (is_better_side | ~arrived) | (is_nearer & ~arrived)
    return best, is_better
