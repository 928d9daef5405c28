"""Where NEWTON starts inside of limits: bent as a free chain bends, as far as the joints allow.

The least turns from a start pose bend a long chain unevenly, and find the side that hinges bend to
slowly. A free chain keeps the shape of its start pose, or takes an arc. Its joints' turns, brought
into their ranges one by one, are near the solution, and often are it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import limits, swings, turns, vectors
from .algebra.arithmetic import ARRAYS
from .jointed import Jointed
from .kinematics.bend_plane import Pole, plan_bend
from .kinematics.start_pose import StartPose, move_joints
from .model.options import Solver
from .posed import turned_outside
from .solving.free_positions import Positions, position_joints
from .solving.task import Task
from .vectors import Array, Counts, Flags, across, norm, smoothstep, taken

# A start pose whose mean offset from its chord is less than this share of the reach is straight.
STRAIGHT = 0.02
# What starts straight with its target on its own line, to this share of the reach, is bent by this
# share of the way where no pose shall lead.
ON_LINE, NUDGE = 0.02, 0.1
# A range without an end goes so far from its other one, in radians.
OPEN_RANGE = 1.2


@dataclass(frozen=True)
class NaturalStart:
    """What B chains bend from.

    Attributes:
        start: The start poses; of straight ones, bent to the middles of their joints' ranges.
        turn: The joints' turns there, whether allowed or not, shape (n, 4, B).
        inner: What tells a turn, given as a vector, in the frame of each joint, (n, 3, 3, B).
        is_straight: Which are straight all the same, shape (B,).
    """

    start: StartPose
    turn: Array
    inner: Array
    is_straight: Flags

    def take(self, chains: Counts) -> NaturalStart:
        """Return some of the chains."""
        return NaturalStart(
            self.start.take(chains),
            taken(self.turn, chains),
            taken(self.inner, chains),
            self.is_straight[chains],
        )


def compiled(start: StartPose, chain: Jointed, start_turn: Array) -> NaturalStart:
    """Return what chains bend from.

    Args:
        start: Start poses.
        chain: Their joints.
        start_turn: Their turns, whether the joints allow them or not, shape (n, 4, B).
    """
    straight = is_straight(start)
    if chain.has_stiffness:
        # A stiff joint would have to turn to the middle of its range first.
        straight &= (chain.mobility == 1.0).all(axis=(0, 1))
    turn = np.where(straight, _lopsided(chain, start_turn), start_turn)
    posed = chain.posed(chain.state(turn, np.zeros_like(chain.slide_low)))
    start = move_joints(start, posed.points)
    inner = np.linalg.inv(turned_outside(posed.frames).transpose(0, 3, 1, 2))
    return NaturalStart(start, turn, inner.transpose(0, 2, 3, 1), is_straight(start))


def is_straight(start: StartPose) -> Flags:
    """Tell which start poses lie on one line, nearly."""
    straight: Flags = start.bulge < STRAIGHT * start.reach
    return straight


def bent(natural: NaturalStart, chain: Jointed, task: Task) -> Array:
    """Return the turns (n, 4, B), inside their ranges, that lead chains toward their targets."""
    return chain.clamped(led(natural, chain, task))


def led(natural: NaturalStart, chain: Jointed, task: Task) -> Array:
    """Return the turns (n, 4, B), whatever their ranges, that lead chains toward their targets.

    Source: derived for this project; tested in tests/core/test_limited_smoothness.py and
    test_limited_reach.py.
    """
    start = natural.start
    asked = task
    if task.pole is None:
        # Straight chains bend to where they stood: that turns their roots least.
        ahead = Pole(natural.is_straight, start.points[-1], np.zeros(len(natural.is_straight)))
        asked = replace(task, pole=ahead)
    free = position_joints(ARRAYS, start, asked, Solver.NEWTON)
    moved = _turned_on_parents(natural, task, free)
    local = np.einsum("nijb,njb->nib", natural.inner, turns.vectors_of(moved))
    if chain.has_stiffness:
        weights = swings.stiff(natural.turn, chain.readiness)
        local = np.einsum("nijb,njb->nib", weights, local)
    turned = turns.multiply(turns.by_vectors(local), natural.turn)
    return limits.hinged(chain.kinds, turned)


def nudged(
    natural: NaturalStart, start: StartPose, chain: Jointed, standing: Array, task: Task
) -> Array:
    """Return states (n + 1, 7, B) of which none is straight and has its target on its own line.

    From there no torque leads nearer. What is bent already, has its target aside, or slides, stays.
    """
    off = norm(across(task.target, start.chord)) / start.reach
    share = NUDGE * (1.0 - smoothstep(off, 0.0, ON_LINE)) * is_straight(start)
    share *= ~(chain.slide_high > chain.slide_low).any(axis=0)
    if len(chain.kinds) == 1 or not share.any():
        return standing
    turn = turns.part_way(standing[:-1, :4], bent(natural, chain, task), share)
    return chain.state(chain.clamped(turn), standing[:-1, 4])


def _turned_on_parents(natural: NaturalStart, task: Task, free: Positions) -> Array:
    """Return how each bone turns beyond its parent, told along the axes of the start pose."""
    start, whole = natural.start, np.array(free.rotation)
    if natural.is_straight.any():
        # Their side is no bend that they have had: they do not roll toward it.
        plain = plan_bend(ARRAYS, start.chord, start.side, start.reach, task.target, None)
        whole = np.where(natural.is_straight, np.array(plain.rotation), whole)
    lengths = start.lengths[:, None, :]
    before = vectors.rotate(turns.matrices(whole), np.diff(start.points, axis=0) / lengths)
    bones = turns.multiply(turns.between(before, np.diff(free.points, axis=0) / lengths), whole)
    moved = bones.copy()
    moved[1:] = turns.multiply(turns.conjugate(bones[:-1]), bones[1:])
    return moved


def _lopsided(chain: Jointed, start_turn: Array) -> Array:
    """Return turns with all joints but the root in the middles of their swings' ranges."""
    rooms = [limits.room(*each) for each in zip(chain.kinds, chain.low, chain.high, strict=True)]
    low, high = (np.array(ends) for ends in zip(*rooms, strict=True))
    is_open = ~np.isfinite(low) & ~np.isfinite(high)
    least = np.where(np.isfinite(low), low, np.where(is_open, 0.0, high - OPEN_RANGE))
    most = np.where(np.isfinite(high), high, np.where(is_open, 0.0, low + OPEN_RANGE))
    middle = 0.5 * (least + most)
    middle[:, 1] = 0.0
    turn = swings.clamped(chain.ranges, turns.by_vectors(middle))
    is_even = (np.abs(middle).max(axis=1) < swings.HELD) & (chain.zero[:, 0] == 1.0)
    turn = np.where(is_even[:, None], start_turn, turn)
    turn[0] = start_turn[0]
    return turn
