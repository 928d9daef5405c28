"""Chains and trees that start anew from a few other poses, and the best that comes of it."""

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
from .joint_run import ENOUGH, WORTH_A_JUMP, Run

# The same poses every time: a frame solved again gives the same pose.
SEED, DRAWN = 20110705, 64
# Iterations for each new start.
ENOUGH_ANEW = 20
# A chain that stays farther than this from the side of its pole, in radians, tries others too; one
# that arrives as well replaces another if it is nearer to that side by ``WORTH_A_JUMP``.
ASIDE = 0.02
# What arrives comes before all that does not, in lengths of the reach and radians.
BEFORE_ALL = 10.0
# What is not nearer by so much, in lengths of the reach or radians, is as good: else last digits
# would choose.
AS_GOOD = 1e-5


def draw_tips(tree: KinematicTree) -> Array:
    """Return where the effectors of drawn poses are, shape (E, 3, drawn, B)."""
    count = tree.reach.size
    rows, every = np.repeat(np.arange(count), DRAWN), np.tile(np.arange(DRAWN), count)
    several, turn = tree.take(rows), _draw_turns(tree.joints, rows, every)
    tips = several.clamp_state(turn, several.joints.resting_slide).posed.tips
    # Drawn poses of one chain are side by side.
    return tips.reshape(*tips.shape[:2], count, DRAWN).swapaxes(2, 3).copy()


def start_anew(
    run: Run, tips: Array, state: State, used: Counts, rows: Counts, tries: tuple[int, int]
) -> tuple[State, Counts]:
    """Start chains or trees from other poses as well, side by side, and keep what is better.

    Args:
        run: All of them.
        tips: As ``draw_tips`` has them.
        state: What they have come to.
        used: Iterations used, shape (B,).
        rows: Which to start again.
        tries: Of how many drawn poses the nearest are taken, and how many of these.
    """
    few, count, present = run.take_again(rows, ENOUGH), len(rows), state.take(rows)
    (drawn, starts), of = tries, np.repeat(np.arange(count), tries[1])
    chosen = find_nearest(few, take_rows(tips[:, :, :drawn], rows), starts)
    several = few.take_again(np.concatenate((of, np.arange(count))), ENOUGH_ANEW)
    several.iterations[len(of) :] = ENOUGH
    turn = _draw_turns(few.tree.joints, of, chosen)
    turn = np.concatenate((turn, present.turn), axis=-1)
    begun = several.tree.clamp_state(turn, several.start.slide)
    # What only looks for another side has to arrive; what has not arrived, to come to rest.
    bring = several.settle if few.is_open(present).any() else several.close
    found, used_by = bring(begun, np.zeros_like(several.iterations))
    both = np.arange(len(used_by))
    present, others = found.take(both[len(of) :]), found.take(both[: len(of)])
    present_used, used_by = used_by[len(of) :], used_by[: len(of)]
    several = several.take(np.arange(len(of)))
    others, used_by = several.aim(others, used_by)
    best, is_better = _choose_best(few, several, others, present)
    found = others.take(best).choose(is_better, present)
    spent = np.where(is_better, used_by[best], present_used)
    # Aims have led what has not arrived away from where it is nearest, and what has been found anew
    # has had few iterations.
    is_left = few.is_open(found) & (is_better | (run.aims is not None))
    found, spent = few.settle(found, spent, is_left, few.aims if run.is_chain else None)
    used = used.copy()
    used[rows] += spent
    return state.put(rows, found), np.minimum(used, run.iterations)


def find_nearest(run: Run, tips: Array, starts: int) -> Counts:
    """Return which drawn poses of each chain are nearest to its targets; first the middle."""
    weighed = (tips * run.tree.sqrt_weights[:, None, None]).reshape(-1, *tips.shape[2:])
    gap = norm(run.target - weighed.swapaxes(0, 1))
    gap[0] = 0.0
    return np.argsort(gap, axis=0, kind="stable")[:starts].T.ravel()


def _draw_turns(joints: CompiledJoints, rows: Counts, which: Counts) -> Array:
    """Return drawn turns (n, 4, R) of the joints of some rows (R,), each by its number.

    Number 0 is the middle of the ranges.
    """
    middle, half = joints.find_middles()
    share = _draw_shares(len(joints.kinds))[which].transpose(1, 2, 0)
    return turn_joints(middle[..., rows] + share * half[..., rows])


@lru_cache(maxsize=64)
def _draw_shares(bones: int) -> Array:
    """Return where in their ranges the joints of drawn poses are, from -1 to 1, (drawn, n, 3)."""
    shares = np.random.default_rng(SEED).uniform(-1.0, 1.0, (DRAWN, bones, 3))
    shares[0] = 0.0
    return shares


def _choose_best(few: Run, several: Run, tried: State, present: State) -> tuple[Counts, Flags]:
    """Return which of several states of each chain is best, and whether what stands is worse."""
    count = len(few.iterations)
    # Of the poses that arrive those on the right side, of the others those that are as near as any;
    # then the one that is least of a change.
    side, gap = several.find_angles_past(tried), several.find_errors(tried)
    has_arrived = ~several.is_open(tried)
    lack = np.where(has_arrived, np.maximum(side, ASIDE) - BEFORE_ALL, gap / several.tree.reach)
    lack = lack.reshape(count, -1)
    is_as_good = lack <= lack.min(axis=1, keepdims=True) + AS_GOOD
    change = _find_changes(tried, several.start).reshape(count, -1)
    ranked = np.where(is_as_good, change, np.inf)
    best: Counts = ranked.argmin(axis=1) + ranked.shape[1] * np.arange(count)
    standing_gap, has_stood = few.find_errors(present), ~few.is_open(present)
    is_nearer = gap[best] + WORTH_A_JUMP * few.tree.reach < standing_gap
    is_better_side = side[best] + WORTH_A_JUMP < few.find_angles_past(present)
    is_better = has_arrived[best] & (is_better_side | ~has_stood) | (is_nearer & ~has_stood)
    return best, is_better


def _find_changes(state: State, other: State) -> Array:
    """Return how far joints stand apart, as sums of squared sines of half the angles, (B,)."""
    cosine = np.einsum("nib,nib->nb", state.turn, other.turn)
    changes: Array = (1.0 - cosine**2).sum(axis=0)
    return changes
