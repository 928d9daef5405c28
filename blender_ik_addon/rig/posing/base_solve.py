"""Solve chains of rigid bones side by side: targets in, local rotations out, nothing else.

A chain whose bones stay rigid is solved in the space that its root bone turns in, its *base*. With
G the turn of a bone there and R its rest frame as it stands in the start pose, a bone's new local
rotation is (R^-1 (G_parent^-1 G) R) before the one that it started from. Everything but the turns
is compiled; ``frame_solve``, through any parent matrix, gives the same, and is what
tests/blender/rigid/test_rig_rigid.py compares this with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core import Chains, Goals, Solutions, bone_rotations, solve_batch
from ...core.algebra import quaternions, rotation
from ...core.algebra.arithmetic import FLOATS, Array, Flags
from ...core.solving.compiled_chains import compile_chains
from ..frames.base_start import BaseChain, BaseStart, into_local
from ..frames.bases import Bases, point_in_base, without_rounding
from ..frames.batch_settings import BatchSettings
from ..frames.chain_poses import LENGTHS_AGREE, angles_between
from ..frames.side import is_on_side_of
from ..planning.acting_forces import forces_on, gravity_in_bases
from ..reading.rows import Rows
from ..trees.driven import Driven
from .solved import Asked, Solved, name_ending

# So many choices of so few chains are kept compiled.
MOST_TAKEN, FEW_TAKEN = 64, 24


class Turned(NamedTuple):
    """Some chains as solved.

    Attributes:
        pick: Which ones.
        near: Rotation channels to stay near, shape (b, k, 4).
        ends: Where effectors are to go, in the bases, shape (b, 3).
        solutions: Of the segments.
        local: Local rotations wxyz, shape (b, k, 4).
        tip_gaps: Radians that are left to wanted orientations, shape (b,).
    """

    pick: Rows
    near: Array
    ends: Array
    solutions: Solutions
    local: Array
    tip_gaps: Array


class BaseSolve:
    """B chains alike, compiled. Arrays with one row a chain unless said otherwise."""

    def __init__(self, driven: Sequence[Driven]) -> None:
        """Compile chains that have the same ``batch_key`` and rigid bones."""
        self.settings = BatchSettings.of(driven)
        self._chain = BaseChain.of(driven)
        local = self.settings.start
        lengths = np.linalg.norm(np.diff(self._chain.laid(local).joints, axis=1), axis=2)
        self._slack = LENGTHS_AGREE * lengths.sum(axis=1)
        forces = forces_on([each.specs[0] for each in driven], lengths)
        self._forces = self.settings.with_optimum(forces, slice(None))
        self._start = self._started(slice(None), local, self.settings.stored)
        self._taken: dict[bytes, BaseStart] = {}

    def solved(self, asked: Asked, bases: Bases) -> Solved:
        """Return what brings some of the chains, which have these bases, to their targets."""
        return self._finished(bases, self.turned(asked, bases))

    def turned(self, asked: Asked, bases: Bases) -> Turned:
        """Return the same as local rotations, before influence and locks."""
        own, is_all = self.settings, len(asked.rows) == len(self.settings)
        pick: Rows = slice(None) if is_all else asked.rows
        if own.is_current:
            resumed = own.resumed(pick, asked.present, asked.whole)
            start = self._started(pick, resumed, asked.present)
        else:
            start = self._some(pick)
        from_world, targets = bases.from_world, asked.targets[:, 0]
        points, effectors = targets[:, :3, 3], start.chains.joint_positions[:, -1]
        ends = point_in_base(from_world, points)
        ends = without_rounding(ends, effectors, points, bases.unit)
        poles = None if asked.poles is None else point_in_base(from_world, asked.poles[:, 0])
        turned = self._orientations(from_world, targets)
        if own.carried is not None:
            poles = own.carried.take(pick).poles(ends, turned)
        tips = self._tip_turns(start.tip, turned)
        goals = Goals(
            target_position=ends,
            pole_position=poles,
            pole_angle=0.0 if poles is None else own.pole_angle[pick, 0],
            tip_rotation_wxyz=tips if own.plan.ends_at_tail else None,
        )
        options, chains = own.options if is_all else own.options.take(asked.rows), start.chains
        options = options.per_unit(bases.unit)
        if own.is_current:
            options = replace(options, use_flip_bend=start.use_flip)
        if chains.forces is not None:
            chains = chains.under(gravity_in_bases(chains.forces, bases.to_world))
        solutions = solve_batch(chains, goals, options)
        local, tip_gaps = self._turned(pick, start, chains, solutions, tips)
        if start.helpers.shape[1]:
            local = np.concatenate((local, start.helpers), axis=1)
        return Turned(pick, start.near, ends, solutions, local, tip_gaps)

    def _started(self, pick: Rows, local: Array, near: Array) -> BaseStart:
        """Return some of the chains in a pose, and the channels (b, k, 4) to stay near."""
        own, chain = self.settings, self._chain.take(pick)
        laid, joints, forces = chain.laid(local), own.joints, self._forces
        chains = Chains(
            laid.joints,
            rotation.rotate(laid.posed[:, 0], chain.hints),
            None if joints is None else joints.take(pick).for_core(chain.core_offsets(), local),
            forces if forces is None or isinstance(pick, slice) else forces.take(pick),
        )
        # What is compiled together decides how chains are solved, not how many of them move.
        compile_chains(chains).count = len(own)
        use_flip: Flags = np.asarray(own.options.use_flip_bend)[pick]
        if own.is_current and not own.spec.has_side and use_flip.any():
            # A chain that starts from its own last pose would change sides at every update, so
            # there a flip is relative to the stored pose.
            poses = (self._bending(chain, each) for each in (local, own.zero[pick]))
            use_flip = use_flip & is_on_side_of(*poses)
        local, helpers = np.split(local, [laid.rest.shape[1]], axis=1)
        into = into_local(local, laid.rest) if joints is None else None
        return BaseStart(local, helpers, near, laid.posed[:, -1], use_flip, chains, into)

    def _bending(self, chain: BaseChain, local: Array) -> tuple[Array, Array]:
        """Return the joints (b, n, 3) that bend in a pose, and where they would if straight."""
        laid = chain.laid(local)
        joints = laid.joints[:, :-1] if self.settings.plan.bends_without_tip else laid.joints
        return joints, rotation.rotate(laid.posed[:, 0], chain.hints)

    def _some(self, pick: Rows) -> BaseStart:
        """Return the compiled start of some of the chains; of a few of them it is kept."""
        if isinstance(pick, slice):
            return self._start
        key = pick.tobytes()
        start = self._taken.get(key)
        if start is None:
            start = self._start.take(pick)
            if len(pick) <= FEW_TAKEN:
                if len(self._taken) >= MOST_TAKEN:
                    self._taken.clear()
                self._taken[key] = start
        return start

    def _orientations(self, from_world: Array, targets: Array) -> Array:
        """Return the orientations wxyz of targets in the bases, where anything follows them."""
        if self.settings.carried is None and not self.settings.like.turning:
            return np.empty((len(targets), 4))
        wanted = from_world[:, :, :3] @ targets[:, :3, :3]
        if not self._is_in_floats:
            return rotation.quaternion_from_shown(wanted)
        return np.array([quaternions.from_shown(FLOATS, each) for each in wanted.tolist()])

    def _tip_turns(self, start: Array, targets: Array) -> Array | None:
        """Return the turns of tip bones from the start pose to their targets' orientations."""
        if not self.settings.like.turning:
            return None
        if not self._is_in_floats:
            return rotation.multiply(targets, rotation.conjugate(start))
        pairs = zip(targets.tolist(), start.tolist(), strict=True)
        multiply, conjugate = quaternions.multiply, quaternions.conjugate
        return np.array([multiply(target, conjugate(own)) for target, own in pairs])

    @property
    def _is_in_floats(self) -> bool:
        return compile_chains(self._start.chains).is_in_floats

    def _turned(
        self, pick: Rows, start: BaseStart, chains: Chains, solutions: Solutions, tips: Array | None
    ) -> tuple[Array, Array]:
        """Return the local rotations wxyz (b, n, 4) of a solution, and what tips lack (b,).

        Of the n bones of the limb, without twist bones.
        """
        own, before = self.settings, start.local
        no_gaps = np.zeros(len(before))
        is_tip_beyond = tips is not None and not own.plan.ends_at_tail
        weight = own.spec.options.orient_weight
        if own.joints is None:
            turns = bone_rotations(chains, solutions)
            local = start.turned(turns, tips)
            if is_tip_beyond and weight < 1.0:
                local[:, -1] = rotation.interpolate(before[:, -1], local[:, -1], weight)
            return local, no_gaps
        joints = own.joints.take(pick)
        assert solutions.local_rotations_wxyz is not None
        local = joints.local_of(solutions.local_rotations_wxyz)
        if local.shape == before.shape:
            return local, no_gaps + solutions.tip_gap
        local = np.concatenate((local, before[:, -1:]), axis=1)
        if tips is None:
            return local, no_gaps + solutions.tip_gap
        frame = self._chain.take(pick).laid(local).rest[:, -1]
        wanted = rotation.multiply(tips, start.tip)
        wanted = rotation.multiply(rotation.conjugate(frame), wanted)
        wanted = rotation.interpolate(before[:, -1], wanted, weight)
        local[:, -1] = wanted
        local[:, -1] = joints.clamped(local)[:, -1]
        return local, angles_between(local[:, -1], wanted)

    def _finished(self, bases: Bases, found: Turned) -> Solved:
        """Return what influence and locks leave of a solution, measured on what is left."""
        own, (pick, near, ends, solutions, local, tip_gaps) = self.settings, found
        channels, is_kept, is_moved = own.finished(pick, local, near)
        points, gaps = solutions.joint_positions, solutions.residual
        if is_moved.any():
            laid = self._chain.take(pick).laid(own.local_of(channels))
            points = np.where(is_moved[:, None, None], laid.joints, points)
            left = np.linalg.norm(points[:, -1] - ends, axis=1)
            gaps = np.where(is_moved, left, gaps)
        tolerance = own.tolerance[pick, 0] / bases.unit
        has_arrived = gaps <= tolerance + self._slack[pick]
        is_blended = is_moved if own.is_whole else own.shares[pick, 0] < 1.0
        residuals = _sizes(bases.to_world, points[:, -1] - ends)
        codes = name_ending(solutions.status_code, has_arrived, is_blended, is_moved)
        return Solved(
            channels=channels,
            whole=local,
            is_kept=is_kept,
            residuals=residuals[:, None],
            iterations=solutions.iterations,
            status_codes=codes[:, None],
            tip_gaps=tip_gaps[:, None],
            holds=solutions.holds,
        )


def _sizes(to_world: Array, gaps: Array) -> Array:
    """Return how long gaps (b, 3) in the bases are in world space, shape (b,)."""
    gaps = np.einsum("bij,bj->bi", to_world, gaps)
    sizes: Array = np.sqrt(np.einsum("bi,bi->b", gaps, gaps))
    return sizes
