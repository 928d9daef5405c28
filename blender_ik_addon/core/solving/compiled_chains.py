"""What the solvers make of the start poses of chains, once: it is kept with the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from .. import natural_start
from ..algebra.arithmetic import Array
from ..algebra.vectors import Vector
from ..effort import Effort, compiled
from ..freed import freed_joints
from ..jointed import Jointed
from ..jointed_chains import jointed_chains
from ..kinematics.start_pose import StartPose, compile_start_poses
from ..model.chains import Chain, Chains
from ..natural_start import NaturalStart
from ..vectors import Counts, taken

# Chains without limits of which no more are compiled together are solved one by one, in floats;
# `scripts/benchmark.py --stages` measures where that pays.
FEW = 6

Part = TypeVar("Part")


def compile_once(make: Callable[[Any], Part]) -> cached_property[Part]:
    """Return a property that is compiled on first use; rows of other chains take it from those."""

    def get(self: CompiledChains) -> Any:
        if self.whole is None:
            return make(self)
        part = getattr(self.whole, make.__name__)
        if self.rows is None or part is None:
            return part
        if isinstance(part, tuple):
            return tuple(part[row] for row in self.rows.tolist())
        return taken(part, self.rows) if isinstance(part, np.ndarray) else part.take(self.rows)

    get.__doc__ = make.__doc__
    return cached_property(get)


class CompiledChains:
    """B chains as the solvers take them.

    Attributes:
        chains: The chains.
        whole: The compiled chains that these are rows of; None if they are no others'.
        rows: Which ones; None for all of them.
        count: Of how many chains these were taken: what decides how they are solved.
    """

    def __init__(self, chains: Chains) -> None:
        """Take the chains; nothing is compiled yet."""
        self.chains = chains
        self.whole: CompiledChains | None = None
        self.rows: Counts | None = None
        self.count: int = len(chains)
        if chains.source is not None:
            whole, self.rows = chains.source
            self.whole = compile_chains(whole)
            self.count = self.whole.count

    @property
    def is_few(self) -> bool:
        """Whether chains without limits are solved one by one, in floats."""
        return self.count <= FEW

    @compile_once
    def start(self) -> StartPose:
        """The start poses."""
        return self._compile(self.chains.joint_positions)

    @compile_once
    def rest(self) -> StartPose | None:
        """The start poses of all bones but the tips; None for single bones."""
        if self.chains.bone_count == 1:
            return None
        return self._compile(self.chains.joint_positions[:, :-1])

    def _compile(self, points: Array) -> StartPose:
        bends = self.chains.bend_direction
        hint = np.zeros((3, len(points))) if bends is None else np.ascontiguousarray(bends.T)
        return compile_start_poses(np.ascontiguousarray(points.transpose(1, 2, 0)), hint)

    @compile_once
    def each_start(self) -> tuple[StartPose, ...]:
        """The start poses one by one, in floats."""
        return tuple(self.start.alone(row) for row in range(len(self.chains)))

    @compile_once
    def each_rest(self) -> tuple[StartPose | None, ...]:
        """As ``rest``, one by one, in floats."""
        rest = self.rest
        return tuple(rest and rest.alone(row) for row in range(len(self.chains)))

    @compile_once
    def start_directions(self) -> Array:
        """The unit directions of the segments, armature space, shape (n, 3, B)."""
        directions: Array = np.diff(self.start.points, axis=0) / self.start.lengths[:, None, :]
        return directions

    @compile_once
    def each_direction(self) -> tuple[list[Vector], ...]:
        """The same one by one: of each chain one vector a segment."""
        directions = np.moveaxis(self.start_directions, -1, 0).tolist()
        return tuple([(x, y, z) for x, y, z in each] for each in directions)

    @compile_once
    def jointed(self) -> Jointed:
        """The joints, of chains that have some."""
        assert self.chains.joints is not None
        return jointed_chains(self.start, self.chains.joints)

    @compile_once
    def start_turns(self) -> Array:
        """The turns of the joints in the start poses, whether allowed or not, shape (n, 4, B)."""
        assert self.chains.joints is not None
        return self.jointed.inner(self.chains.joints.start_wxyz)

    @compile_once
    def clamped_start(self) -> Array:
        """The same, brought to what the joints allow."""
        return self.jointed.begun(self.start_turns)

    @compile_once
    def clamped_states(self) -> Array:
        """The states of the joints in those poses, shape (n + 1, 7, B)."""
        return self.jointed.state(self.clamped_start, self.jointed.resting_slide)

    @compile_once
    def natural(self) -> NaturalStart:
        """What chains with joints bend from."""
        return natural_start.compiled(self.start, self.jointed, self.start_turns)

    @cached_property
    def effort(self) -> Effort | None:
        """What acts on chains with joints."""
        if self.chains.forces is None:
            return None
        effort = self._effort
        gravity = np.ascontiguousarray(self.chains.forces.gravity.T)
        return replace(effort, gravity=gravity / self.jointed.reach)

    @compile_once
    def _effort(self) -> Effort:
        """The same under the gravity that these or the whole chains were compiled with."""
        assert self.chains.forces is not None
        return compiled(self.jointed, self.chains.forces, self.clamped_start)

    @cached_property
    def unconstrained(self) -> Chains:
        """The same chains with joints that turn freely, for forces that act on joints."""
        if self.whole is None:
            return replace(self.chains, joints=freed_joints(self.start))
        chains = self.whole.unconstrained
        chains = chains if self.rows is None else chains.take(self.rows)
        forces = self.chains.forces
        return chains if forces is None else chains.under(forces.gravity)

    @cached_property
    def twice(self) -> Chains:
        """The one chain that these are, two times.

        NumPy adds the numbers of one row up in another order than those of several: chains with
        joints are never solved alone, so that a pose does not depend on its neighbours.
        """
        return self.chains.take(np.zeros(2, dtype=np.int64))


def compile_chains(chain: Chain) -> CompiledChains:
    """Return what solvers make of a chain, as a batch of one, or of many; kept with the record."""
    known: CompiledChains | None = chain.compiled
    if known is None:
        chains = chain if isinstance(chain, Chains) else chain.as_batch()
        known = CompiledChains(chains)
        for record in (chain, chains):
            vars(record)["compiled"] = known
    return known
