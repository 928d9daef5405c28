"""Solvers of chains of rigid bones, side by side: targets in, local rotations out.

A chain whose bones stay rigid is solved in the space that its root bone turns in, its *base*. With
G the turn of a bone there and R its rest frame in the start pose, a bone's new local rotation is
(R^-1 (G_parent^-1 G) R) before its start rotation. Everything but the turns is compiled.
``frame_solve`` gives the same through any parent matrix; tests/blender/rigid/test_rig_rigid.py
compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core import Chains, Goals, Solutions, bone_rotations, solve_batch
from ...core.algebra import quaternions, rotation
from ...core.algebra.arithmetic import FLOATS, Array
from ...core.solving.compiled_chains import compile_chains
from ..frames.base_start import BaseChain, BaseStart, into_local
from ..frames.bases import Bases, point_in_base, without_rounding
from ..frames.batch_settings import BatchSettings
from ..frames.bend_sides import is_on_side_of
from ..frames.chain_poses import LENGTH_ROUNDING, angles_between
from ..planning.acting_forces import forces_on, gravity_in_bases
from ..reading.batch_record import Rows, take_rows
from ..trees.driven import Driven
from .solved import Solved, SolveInputs, find_statuses

# Most cached selections of chains, and most chains of a cached selection.
MAX_CACHED_STARTS, MAX_CACHED_ROWS = 64, 24


class Turned(NamedTuple):
    """Solution of some chains, as local rotations.

    Attributes:
        pick: Rows of the chains.
        near: Rotation channels to stay near, shape (b, k, 4).
        ends: Goals of the effectors in the bases, shape (b, 3).
        solutions: Solutions of the segments.
        local: Local rotations wxyz, shape (b, k, 4).
        tip_gaps: Angles from the tips to the requested orientations, radians, shape (b,).
    """

    pick: Rows
    near: Array
    ends: Array
    solutions: Solutions
    local: Array
    tip_gaps: Array


class BaseSolve:
    """Compiled solver of B similar chains; arrays have one row for each chain."""

    def __init__(self, driven: Sequence[Driven]) -> None:
        """Compile chains that have the same ``batch_key`` and rigid bones."""
        self.settings = BatchSettings.of(driven)
        self._chain = BaseChain.of(driven)
        local = self.settings.start
        lengths = np.linalg.norm(np.diff(self._chain.pose(local).joints, axis=1), axis=2)
        self._slack = LENGTH_ROUNDING * lengths.sum(axis=1)
        forces = forces_on([chain.specs[0] for chain in driven], lengths)
        self._forces = self.settings.with_optimum(forces, slice(None))
        self._start = self._compile_start(slice(None), local, self.settings.stored)
        self._cached_starts: dict[bytes, BaseStart] = {}

    def solved(self, inputs: SolveInputs[Bases]) -> tuple[Solved, Sequence[object]]:
        """Return the result for some of the chains, and what they remember: nothing."""
        return self._find_result(inputs.places, self.turned(inputs)), []

    def turned(self, inputs: SolveInputs[Bases]) -> Turned:
        """Return the solution as local rotations, before influence and locks."""
        settings, is_all = self.settings, len(inputs.rows) == len(self.settings)
        pick: Rows = slice(None) if is_all else inputs.rows
        if settings.is_current:
            resumed = settings.recover_solution(pick, inputs.present, inputs.whole)
            start = self._compile_start(pick, resumed, inputs.present)
        else:
            start = self._find_start(pick)
        bases, targets = inputs.places, inputs.targets[:, 0]
        from_world = bases.from_world
        points, effectors = targets[:, :3, 3], start.chains.joint_positions[:, -1]
        ends = point_in_base(from_world, points)
        ends = without_rounding(ends, effectors, points, bases.unit)
        poles = None if inputs.poles is None else point_in_base(from_world, inputs.poles[:, 0])
        target_turns = self._find_orientations(from_world, targets)
        if start.carried is not None:
            poles = start.carried.poles(ends, target_turns)
        tips = self._find_tip_turns(start.tip, target_turns)
        goals = Goals(
            target_position=ends,
            pole_position=poles,
            pole_angle=0.0 if poles is None else start.pole_angle,
            tip_rotation_wxyz=tips if settings.plan.ends_at_tail else None,
        )
        options, chains = inputs.softened(start.options).per_unit(bases.unit), start.chains
        if chains.forces is not None:
            chains = chains.under(gravity_in_bases(chains.forces, bases.to_world))
        solutions = solve_batch(chains, goals, options)
        local, tip_gaps = self._find_local_rotations(pick, start, chains, solutions, tips)
        if start.helpers.shape[1]:
            local = np.concatenate((local, start.helpers), axis=1)
        return Turned(pick, start.near, ends, solutions, local, tip_gaps)

    def _compile_start(self, pick: Rows, local: Array, near: Array) -> BaseStart:
        """Return some chains with a start pose, and the channels (b, k, 4) to stay near."""
        settings, chain = self.settings, self._chain.take(pick)
        posed, joints, forces = chain.pose(local), settings.joints, self._forces
        chains = Chains(
            posed.joints,
            rotation.rotate(posed.posed[:, 0], chain.hints),
            None if joints is None else joints.take(pick).for_core(chain.core_offsets(), local),
            forces if forces is None or isinstance(pick, slice) else forces.take(pick),
        )
        # The size of the batch decides how chains are solved, not the number of chains that move.
        compile_chains(chains).count = len(settings)
        inputs = settings.options, settings.pole_angle[:, 0], settings.carried
        options, pole_angle, carried = take_rows(inputs, pick)
        if settings.is_current and not settings.spec.has_side and np.any(options.use_flip_bend):
            # A chain that starts from its own last pose would change sides at every update, so
            # there a flip is relative to the stored pose.
            poses = (self._find_bend(chain, pose) for pose in (local, settings.zero[pick]))
            use_flip = options.use_flip_bend & is_on_side_of(*poses)
            options = replace(options, use_flip_bend=use_flip)
        local, helpers = np.split(local, [posed.rest.shape[1]], axis=1)
        to_local = into_local(local, posed.rest) if joints is None else None
        return BaseStart(
            local,
            helpers,
            near,
            tip=posed.posed[:, -1],
            options=options,
            pole_angle=pole_angle,
            carried=carried,
            chains=chains,
            into_local=to_local,
        )

    def _find_bend(self, chain: BaseChain, local: Array) -> tuple[Array, Array]:
        """Return the joints (b, n, 3) that bend, and the bend directions of straight chains."""
        posed = chain.pose(local)
        joints = posed.joints[:, :-1] if self.settings.plan.bends_without_tip else posed.joints
        return joints, rotation.rotate(posed.posed[:, 0], chain.hints)

    def _find_start(self, pick: Rows) -> BaseStart:
        """Return the compiled start of some chains; small selections are cached."""
        if isinstance(pick, slice):
            return self._start
        key = pick.tobytes()
        start = self._cached_starts.get(key)
        if start is None:
            start = self._start.take(pick)
            if len(pick) <= MAX_CACHED_ROWS:
                if len(self._cached_starts) >= MAX_CACHED_STARTS:
                    self._cached_starts.clear()
                self._cached_starts[key] = start
        return start

    def _find_orientations(self, from_world: Array, targets: Array) -> Array:
        """Return the orientations wxyz of targets in the bases; arbitrary ones if not needed."""
        if self.settings.carried is None and not self.settings.first.turning_chains:
            return np.empty((len(targets), 4))
        matrices = from_world[:, :, :3] @ targets[:, :3, :3]
        if not self._is_in_floats:
            return rotation.quaternion_from_any_matrix(matrices)
        return np.array(
            [quaternions.from_any_matrix(FLOATS, matrix) for matrix in matrices.tolist()]
        )

    def _find_tip_turns(self, start: Array, targets: Array) -> Array | None:
        """Return the turns of tip bones from the start pose to their targets' orientations."""
        if not self.settings.first.turning_chains:
            return None
        if not self._is_in_floats:
            return rotation.multiply(targets, rotation.conjugate(start))
        pairs = zip(targets.tolist(), start.tolist(), strict=True)
        multiply, conjugate = quaternions.multiply, quaternions.conjugate
        return np.array([multiply(target, conjugate(initial)) for target, initial in pairs])

    @property
    def _is_in_floats(self) -> bool:
        return compile_chains(self._start.chains).is_in_floats

    def _find_local_rotations(
        self, pick: Rows, start: BaseStart, chains: Chains, solutions: Solutions, tips: Array | None
    ) -> tuple[Array, Array]:
        """Return local rotations wxyz (b, n, 4) of a solution, and the tip gaps (b,).

        n counts the bones of the limb, without twist bones.
        """
        settings, start_local = self.settings, start.local
        no_gaps = np.zeros(len(start_local))
        is_tip_beyond = tips is not None and not settings.plan.ends_at_tail
        weight = settings.spec.options.orient_weight
        if settings.joints is None:
            turns = bone_rotations(chains, solutions)
            local = start.turned(turns, tips)
            if is_tip_beyond and weight < 1.0:
                local[:, -1] = rotation.interpolate(start_local[:, -1], local[:, -1], weight)
            return local, no_gaps
        joints = settings.joints.take(pick)
        assert solutions.local_rotations_wxyz is not None
        local = joints.local_of(solutions.local_rotations_wxyz)
        if local.shape == start_local.shape:
            return local, no_gaps + solutions.tip_gap
        local = np.concatenate((local, start_local[:, -1:]), axis=1)
        if tips is None:
            return local, no_gaps + solutions.tip_gap
        frame = self._chain.take(pick).pose(local).rest[:, -1]
        goal = rotation.multiply(tips, start.tip)
        goal = rotation.multiply(rotation.conjugate(frame), goal)
        goal = rotation.interpolate(start_local[:, -1], goal, weight)
        local[:, -1] = goal
        local[:, -1] = joints.clamped(local)[:, -1]
        return local, angles_between(local[:, -1], goal)

    def _find_result(self, bases: Bases, turned: Turned) -> Solved:
        """Return the result after influence and locks, measured on the written pose."""
        settings, (pick, near, ends, solutions, local, tip_gaps) = self.settings, turned
        channels, is_held, is_moved = settings.finished(pick, local, near)
        points, gaps = solutions.joint_positions, solutions.residual
        if is_moved.any():
            posed = self._chain.take(pick).pose(settings.local_of(channels))
            points = np.where(is_moved[:, None, None], posed.joints, points)
            distances = np.linalg.norm(points[:, -1] - ends, axis=1)
            gaps = np.where(is_moved, distances, gaps)
        tolerance = settings.tolerance[pick, 0] / bases.unit
        has_arrived = gaps <= tolerance + self._slack[pick]
        is_blended = is_moved if settings.is_whole else settings.shares[pick, 0] < 1.0
        gaps = np.einsum("bij,bj->bi", bases.to_world, points[:, -1] - ends)
        residuals: Array = np.sqrt(np.einsum("bi,bi->b", gaps, gaps))
        codes = find_statuses(solutions.status_code, has_arrived, is_blended, is_moved)
        return Solved(
            channels=channels,
            whole=local,
            is_held_by_lock=is_held,
            residuals=residuals[:, None],
            iterations=solutions.iterations,
            status_codes=codes[:, None],
            tip_gaps=tip_gaps[:, None],
            holds=solutions.holds,
        )
