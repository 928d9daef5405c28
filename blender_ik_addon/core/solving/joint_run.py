"""Chains and trees with joints on their way to their targets, and to aims besides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.arrays import norm
from ..algebra.nested import Rows, are_all
from ..kinematics.aims import Aims
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import State
from ..solvers import newton_joints
from ..solvers.newton_directions import FIRST_DAMPING
from ..solvers.weighted_least_squares import compromise
from .iteration import Method, Work, iterate_states, leaves_more_than, stands_still

# What a radian of orientation or of the bend's side weighs beside the chain's length. First as much
# as leads there quickly, then so little that the position hardly gives way where they cannot be had
# together; it is then solved again, alone.
AIM_WEIGHTS = (0.1, 0.003)
# Aims are met to so many radians.
AIM_TOLERANCE = 1e-5
# Iterations for them with each weight; those that cannot be met end in a compromise.
ENOUGH_TO_AIM = (16, 30)
# And steps that know how turns of tips curve. With one weight alone a hundredth more is left.
ENOUGH_TO_TURN = (30, 8)
# Iterations that NEWTON takes from one start; what it has not finished by then it will not.
ENOUGH = 60
# Iterations for the compromise of several effectors.
ENOUGH_TO_COMPROMISE = 150
# Nearer than this share of the reach a pose is not bettered by another start, whatever is asked.
NEAR = 1e-7
# A pose that does not arrive either replaces another one only if it comes nearer by this share of
# the reach: else poses would jump about for nothing.
WORTH_A_JUMP = 0.01
# NEWTON takes off a tenth of the errors within a few iterations, near full reach too: of a hundred
# targets that are reached one to three take longer. What leaves more comes to rest in a few steps
# that know how effectors' paths curve.
SLOW, FEW_STEPS = 0.9, 4


NEWTON = Method(
    newton_joints.step,
    is_damped=True,
    is_hopeless=leaves_more_than(SLOW),
    window=FEW_STEPS,
    compaction=0.4,
)
AIMING = Method(newton_joints.step, is_damped=True, is_hopeless=stands_still, compaction=0.4)
# Turns of tips that can be had take few steps. Those that limits do not allow are soon left to
# steps that know how they curve.
TURNING = replace(AIMING, is_hopeless=leaves_more_than(0.7), window=2)


@dataclass(frozen=True)
class Run(Rows):
    """What is asked of B chains or trees.

    Attributes:
        tree: The chains or trees, without aims.
        start: Their start poses, inside of their ranges.
        target: Rows of the output, shape (3 E, B).
        tolerance: Of all of them together, shape (B,).
        iterations: Caps, shape (B,).
        least_error: What no pose betters, for the lengths of the bones, shape (B,).
        is_chain: Whether a target that cannot be met is all that there is: else the compromise of
            the least weighted errors is looked for.
        aims: What else is aimed at, or None.
        is_alone: Whether it is one chain or tree, asked the same more than once.
    """

    tree: KinematicTree
    start: State
    target: Array
    tolerance: Array
    iterations: Counts
    least_error: Array
    is_chain: bool
    aims: Aims | None = None
    is_alone: bool = False

    def take_again(self, rows: Counts, iterations: Counts | int) -> Run:
        """Return the run of some of the chains, some maybe several times, with other caps."""
        some = self if are_all(rows, len(self.iterations)) else self.take(rows)
        return replace(some, iterations=np.full(len(rows), iterations))

    @property
    def accepted(self) -> Array:
        """From how near on no other start is tried, shape (B,)."""
        return np.maximum(self.tolerance, NEAR * self.tree.reach)

    def find_errors(self, state: State) -> Array:
        """Return the weighted distances of all effectors from their targets, shape (B,)."""
        return norm(self.target - state.output[: len(self.target)])

    def is_open(self, state: State) -> Flags:
        """Return which chains or trees are not at their targets, shape (B,)."""
        is_open: Flags = self.find_errors(state) > self.accepted
        return is_open

    def find_open_effectors(self, state: State) -> Flags:
        """Return which effectors are not at their targets, shape (E, B)."""
        gaps = norm(self.tree.unweigh(self.target) - state.posed.tips)
        is_open: Flags = gaps > self.accepted
        return is_open

    def find_angles_past(self, state: State) -> Array:
        """Return by how many radians limbs and tips are past what they aim at, shape (B,).

        Of those alone that another start may lead nearer.
        """
        past: Array = np.zeros(len(self.iterations))
        if self.aims is None:
            return past
        posed = state.posed
        if self.aims.poles is not None and self.tree.can_swivel:
            past = np.abs(self.aims.poles.find_past(posed)).max(axis=0)
        if self.aims.tips is not None and self.tree.only_hinges:
            past = np.maximum(past, norm(self.aims.tips.find_turns_past(posed)).max(axis=0))
        return past

    def can_come_nearer(self, state: State) -> Flags:
        """Tell which chains may arrive, or come nearer by what is worth a jump, shape (B,).

        Of several effectors one whose target is too far pulls in any pose: no other start arrives.
        """
        can: Flags = self.least_error <= self.accepted
        if self.is_chain:
            farther = self.find_errors(state) - self.least_error
            can = can | (farther > WORTH_A_JUMP * self.tree.reach)
        return can

    def close(self, state: State, used: Counts, among: Flags | None = None) -> tuple[State, Counts]:
        """Have NEWTON bring effectors to the targets, where the caps allow.

        Args:
            state: Of the joints.
            used: Iterations used, shape (B,).
            among: Which to bring nearer, shape (B,); those that are not near enough by default.
        """
        among = self.is_open(state) if among is None else among
        if not among.any():
            return state, used
        caps = np.where(among, np.minimum(self.iterations, used + ENOUGH), used)
        work = Work(self.tree, self.target, self.tolerance, caps)
        return iterate_states(NEWTON, work, state, used, np.full(len(used), FIRST_DAMPING))

    def settle(
        self, state: State, used: Counts, among: Flags | None = None, aims: Aims | None = None
    ) -> tuple[State, Counts]:
        """Bring effectors that have not arrived to where the sum of weighted errors is least.

        Args:
            state: Of the joints.
            used: Iterations used, shape (B,).
            among: Which to bring there, shape (B,); those that are not near enough by default.
            aims: Of the poses that are as near as any the one is found that meets these best.
        """
        is_open = self.is_open(state) if among is None else among
        if not is_open.any():
            return state, used
        if self.tree.slide_axes is not None:
            # The curvature of slides is not known.
            return self.close(state, used, among)
        caps = np.clip(self.iterations - used, 0, ENOUGH_TO_COMPROMISE)
        caps = np.where(is_open, caps, 0)
        tree, target = self.tree, self.target
        if aims is not None:
            tree = replace(tree, aims=replace(aims, weight=AIM_WEIGHTS[-1] * tree.reach))
            target = np.concatenate((target, np.zeros((aims.rows, target.shape[-1]))))
        asked = target, self.tolerance, caps
        found, spent = compromise(tree, state, *asked, is_alone=self.is_alone)
        found = self.tree.restate(found)
        return found.choose(spent > 0, state), used + spent

    def aim(
        self, state: State, used: Counts, is_fresh: Flags | bool = True
    ) -> tuple[State, Counts]:
        """Meet positions and aims together as far as can be, then the positions alone.

        The positions come first: where aims lead a chain into a corner it goes without them.

        Args:
            state: Of the joints.
            used: Iterations used, shape (B,).
            is_fresh: Which have not stood at their targets already, shape (B,): the first weight
                leads away from where the best has been found before.
        """
        before, tree, aims = state, self.tree, self.aims
        if aims is None:
            return state, used
        if aims.poles is not None and not self.is_chain:
            # From the wrong side of a limb the way to the right one may lead through no pose.
            state = tree.clamp_state(aims.poles.face(state.posed, state.turn))
        target = np.concatenate((self.target, np.zeros((aims.rows, len(used)))))
        carried = np.full(len(used), FIRST_DAMPING)
        is_left: Flags = np.ones(len(used), dtype=np.bool_)
        # The curvature of slides is not known.
        turns_tips = aims.tips is not None and tree.slide_axes is None
        method = TURNING if turns_tips else AIMING
        for weight, *enough in zip(AIM_WEIGHTS, ENOUGH_TO_AIM, ENOUGH_TO_TURN, strict=True):
            # What has met all with one weight has done so with any.
            is_led = is_left & (is_fresh | (weight == AIM_WEIGHTS[-1]))
            aiming = replace(tree, aims=replace(aims, weight=weight * tree.reach))
            finest = np.minimum(self.tolerance, AIM_TOLERANCE * weight * tree.reach)
            caps = np.where(is_led, np.minimum(self.iterations, used + enough[0]), used)
            begun = aiming.restate(state)
            work = Work(aiming, target, finest, caps)
            state, used = iterate_states(method, work, begun, used, carried)
            is_left = norm(target - state.output[: len(target)]) > finest
            if turns_tips and (is_led & is_left).any():
                caps = np.clip(self.iterations - used, 0, enough[1] * (is_led & is_left))
                asked = target, finest, caps
                found, spent = compromise(aiming, state, *asked, is_alone=self.is_alone)
                state, used = found.choose(spent > 0, state), used + spent
                is_left = norm(target - state.output[: len(target)]) > finest
            if not is_left.any():
                break
        aimed, used = self.close(tree.restate(state), used)
        is_lost = self.is_open(aimed)
        if not is_lost.any():
            return aimed, used
        plain, used = self.close(before.choose(is_lost, aimed), used)
        # Several goals that cannot be met are no reason to go without the aims.
        margin = 0.0 if self.is_chain else WORTH_A_JUMP * tree.reach
        nearer = self.find_errors(plain) + margin < self.find_errors(aimed)
        return plain.choose(nearer | (is_lost & ~self.is_open(plain)), aimed), used
