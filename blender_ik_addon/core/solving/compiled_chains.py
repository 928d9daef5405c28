"""Data that solvers compile once from the start poses of chains, cached with the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ..algebra.arithmetic import Array, Counts
from ..algebra.chains_first import chains_last
from ..algebra.nested import take_rows
from ..algebra.vectors import cross
from ..equilibrium.potential_energy import PotentialEnergy, compile_energy
from ..kinematics.aims import Limbs, compile_limbs
from ..kinematics.kinematic_tree import KinematicTree, bound_reaches, compile_tree, measure_paths
from ..kinematics.posed import Posed, State
from ..kinematics.start_pose import (
    StartPose,
    align_free_joints,
    compile_start_poses,
    make_free_joints,
)
from ..kinematics.transport import Swings, compile_swings
from ..model.chains import Chain, Chains
from ..model.joints import Joints
from ..model.topology import Topology, make_chain
from .bend_starts import BendStarts, compile_starts
from .float_chains import FloatChain, compile_in_floats
from .restarts import sample_tips

# Up to this many chains that are compiled together are solved one by one, in floats; more are
# solved side by side, in arrays. Both take the same time, for any count of bones, at 10 chains of
# TWO_BONE, 6 of NEWTON (with joints 9 of 2 bones, 6 of 10, 3 of 50), 11 to 20 of FABRIK and CCD. At
# 8 chains NEWTON takes 1.5 times the time of arrays; at 9, sweeps take 1.3 to 2.8 times the time of
# floats. Ten times larger, 30 chains take four times as long.
MAX_CHAINS_IN_FLOATS = 8

Compiled = TypeVar("Compiled")


def compile_once(make: Callable[[Any], Compiled]) -> cached_property[Compiled]:
    """Return a property that is compiled on first use, or taken from rows of an origin."""

    def get(self: CompiledChains) -> Any:
        if self.origin is None:
            return make(self)
        compiled = getattr(self.origin, make.__name__)
        if self.rows is None or compiled is None:
            return compiled
        if isinstance(compiled, tuple):
            return tuple(compiled[row] for row in self.rows.tolist())
        return take_rows(compiled, self.rows)

    get.__doc__ = make.__doc__
    return cached_property(get)


class CompiledChains:
    """B chains as the solvers take them, perhaps rows of others, their origin, compiled before.

    The count is that of all chains that were compiled together: it decides how they are solved.
    """

    def __init__(self, chains: Chains) -> None:
        """Store the chains; compile nothing yet."""
        self.chains = chains
        self.origin: CompiledChains | None = None
        self.rows: Counts | None = None
        self.count: int = len(chains)
        self._cached_rows: dict[bytes, Chains] = {}
        if chains.source is not None:
            source_chains, self.rows = chains.source
            self.origin = compile_chains(source_chains)
            self.count = self.origin.count

    @property
    def is_in_floats(self) -> bool:
        """Whether the chains are solved, swept or dragged one by one, in floats."""
        return len(self.chains) > 0 and self.count <= MAX_CHAINS_IN_FLOATS

    @compile_once
    def start(self) -> StartPose:
        """The start poses."""
        return self._compile(self.chains.joint_positions)

    @compile_once
    def stem(self) -> StartPose | None:
        """The start poses of all bones except the tips; None for single bones."""
        if self.chains.bone_count == 1:
            return None
        return self._compile(self.chains.joint_positions[:, :-1])

    def _compile(self, points: Array) -> StartPose:
        bends = self.chains.bend_direction
        hint = np.zeros((3, len(points))) if bends is None else chains_last(bends)
        return compile_start_poses(chains_last(points), hint)

    @compile_once
    def float_starts(self) -> tuple[StartPose, ...]:
        """The start poses one by one, in floats."""
        return tuple(self.start.alone(row) for row in range(len(self.chains)))

    @compile_once
    def float_stems(self) -> tuple[StartPose | None, ...]:
        """The stems one by one, in floats."""
        stem = self.stem
        return tuple(stem and stem.alone(row) for row in range(len(self.chains)))

    @compile_once
    def float_chains(self) -> tuple[FloatChain, ...] | None:
        """Chains with joints one by one, in floats; None if the float solver cannot solve them."""
        return None if self.is_tree else self._compile_floats(self.bend_starts)

    @compile_once
    def near_float_chains(self) -> tuple[FloatChain, ...] | None:
        """The same for chains that stay near their start poses."""
        return None if self.is_tree else self._compile_floats(self.near_bend_starts)

    def _compile_floats(self, starts: BendStarts) -> tuple[FloatChain, ...] | None:
        if not starts.runs:
            return None
        return compile_in_floats(
            self.float_starts,
            self.tree,
            self.clamped_start,
            self.start_posed.axes[-1],
            (self.limbs, self.stem_limbs),
            starts.runs[0],
        )

    @compile_once
    def swings(self) -> Swings:
        """The directions that the bones of the start poses swing from."""
        start, points = self.start, self.chains.joint_positions
        normal = np.array(cross(start.chord, start.side)).T
        return compile_swings(points[:, 1:] - points[:, :-1], normal)

    @cached_property
    def is_tree(self) -> bool:
        """Whether these are trees."""
        return self.chains.topology is not None

    def by_effector(self, values: Array) -> Array:
        """Return values (B, ...) of chains, or (B, E, ...) of trees, as (E, ..., B)."""
        return chains_last(values if self.is_tree else values[:, None])

    def by_chain(self, values: Array | Counts) -> Any:
        """Return numbers (E, B) as in the records: (B,) of chains, (B, E) of trees."""
        return values.T.copy() if self.is_tree else values[0]

    @cached_property
    def topology(self) -> Topology:
        """The hierarchy of the bones."""
        topology = self.chains.topology or make_chain(self.chains.bone_count)
        joints = self.chains.joints
        return topology if joints is None else topology.with_joints(joints)

    @cached_property
    def _points(self) -> Array:
        return chains_last(self.chains.joint_positions)

    @compile_once
    def root(self) -> Array:
        """The first heads, the origin of solvers, shape (3, B)."""
        root: Array = self._points[0]
        return root

    @compile_once
    def unit(self) -> Array:
        """The unit of length of solvers, shape (B,)."""
        if not self.is_tree:
            return np.array(self.start.unit)
        count = self.chains.bone_count
        _, most = measure_paths(self.topology, self._points[:count], self._points[count:])
        unit: Array = np.ldexp(1.0, np.frexp(most.max(axis=0))[1])
        return unit

    @property
    def _joints(self) -> Joints:
        return self.chains.joints or make_free_joints(len(self.chains), self.chains.bone_count)

    @cached_property
    def _posed_tree(self) -> tuple[KinematicTree, Posed]:
        joints, count = self._joints, self.chains.bone_count
        points = (self._points - self.root) / self.unit
        return compile_tree(self.topology, joints, points[:count], points[count:], self.unit)

    @compile_once
    def tree(self) -> KinematicTree:
        """The bones of trees, and of chains that have joints."""
        return self._posed_tree[0]

    @compile_once
    def start_posed(self) -> Posed:
        """The bones in their start poses."""
        return self._posed_tree[1]

    @compile_once
    def start_reaches(self) -> Array:
        """Least and greatest distances of effectors from their roots, shape (2, E, B).

        They hold for bones that are as long as in the start poses.
        """
        posed = self.start_posed
        return measure_paths(self.topology, posed.heads, posed.tips)

    @compile_once
    def reaches(self) -> Array:
        """Bounds of the distances of effectors from their roots, shape (2, E, B)."""
        return bound_reaches(self.tree, self.start_reaches)

    @compile_once
    def limbs(self) -> Limbs:
        """The limbs that bend to poles."""
        return self._compile_limbs(turns_tip=False)

    @compile_once
    def stem_limbs(self) -> Limbs:
        """The same where the tips take rotations."""
        return self._compile_limbs(turns_tip=True)

    def _compile_limbs(self, *, turns_tip: bool) -> Limbs:
        inputs = self.topology, self.tree.joints.kinds, self.start_posed, self.hints
        return compile_limbs(*inputs, turns_tip=turns_tip)

    @compile_once
    def bend_starts(self) -> BendStarts:
        """The starts that chains with joints bend from, and the straight runs of trees."""
        return self._compile_starts(stays_near=False)

    @compile_once
    def near_bend_starts(self) -> BendStarts:
        """The same for chains that keep a bend to both sides."""
        return self._compile_starts(stays_near=True)

    def _compile_starts(self, *, stays_near: bool) -> BendStarts:
        if self.is_tree:
            posed, turn, chain = self.clamped_states.posed, self.clamped_start, None
        else:
            posed, turn = self.start_posed, self.start_turns
            chain = replace(self.start, unit=np.ones_like(self.unit))
        runs = self.topology.runs
        return compile_starts(
            self.tree, posed, turn, self.hints, chain, runs, stays_near=stays_near
        )

    @compile_once
    def hints(self) -> Array:
        """Directions that bones should bend to, zero for no hint, shape (n, 3, B)."""
        bends, rows, count = self.chains.bend_direction, len(self.chains), self.chains.bone_count
        if bends is None:
            return np.zeros((count, 3, rows))
        return chains_last(bends if self.is_tree else bends[:, None].repeat(count, axis=1))

    @compile_once
    def start_turns(self) -> Array:
        """The turns of the joints in the start poses, whether allowed or not, shape (n, 4, B)."""
        return self.tree.joints.to_turns(self._joints.start_wxyz)

    @compile_once
    def clamped_start(self) -> Array:
        """The same turns, brought into the ranges of the joints."""
        return self.tree.joints.clamp_by_kind(self.start_turns)

    @compile_once
    def clamped_states(self) -> State:
        """The states of the joints with these turns."""
        return self.tree.make_state(self.clamped_start, self.tree.joints.start_slide)

    @compile_once
    def sampled_tips(self) -> Array:
        """Places of effectors in the sampled poses that chains restart from."""
        return sample_tips(self.tree)

    @cached_property
    def potential_energy(self) -> PotentialEnergy | None:
        """The energy of forces on chains with joints; None without forces."""
        if self.chains.forces is None:
            return None
        gravity = chains_last(self.chains.forces.gravity) / self.tree.reach
        return replace(self._energy, gravity=gravity)

    @compile_once
    def _energy(self) -> PotentialEnergy:
        """The same under the gravity that these or the whole chains were compiled with."""
        assert self.chains.forces is not None
        return compile_energy(self.tree, self.chains.forces, self.clamped_start)

    @cached_property
    def unconstrained(self) -> Chains:
        """The same chains with joints that turn freely, for forces that act on joints."""
        if self.origin is None:
            return replace(self.chains, joints=align_free_joints(self.start))
        chains = self.origin.unconstrained
        chains = chains if self.rows is None else chains.take(self.rows)
        forces = self.chains.forces
        return chains if forces is None else chains.under(forces.gravity)

    def take_cached(self, rows: Counts) -> Chains:
        """Return some rows of a small batch, compiled once; a row may be there twice."""
        key = rows.tobytes()
        if key not in self._cached_rows:
            self._cached_rows[key] = self.chains.take(rows)
        return self._cached_rows[key]


def compile_chains(chain: Chain) -> CompiledChains:
    """Return the compiled data of a chain (a batch of one) or of many, cached with the record."""
    compiled: CompiledChains | None = chain.compiled
    if compiled is None:
        chains = chain if isinstance(chain, Chains) else chain.as_batch()
        compiled = CompiledChains(chains)
        for record in (chain, chains):
            vars(record)["compiled"] = compiled
    return compiled
