"""What is solved together: a chain alone, or the chains of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core import SolveOptions, Solver
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.algebra.twist_spread import Segment
from ..reading.bone_joints import BoneJoints
from ..reading.channels import Integers
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec, StartFrom
from .hanging import Hanging
from .live_chain import LiveChain


@dataclass(frozen=True, eq=False)
class Driven:
    """The k bones that E chains write together; one chain is a tree with one effector.

    Attributes:
        live_chains: The chains, in the order of the list.
        bones: Indices, every bone after its parent, shape (k,).
        hanging: Which of them hang on which; those of a generation lie side by side.
        start: Rotation channels to start from, shape (k, 4).
        stored: Those of the stored pose, shape (k, 4).
        modes: Rotation modes, shape (k,).
        is_current: Which bones start from what stands there, shape (k,).
        influence: The largest of the chains that write the bone, shape (k,).
        joints: None where all bones turn freely.
    """

    live_chains: tuple[LiveChain, ...]
    bones: Indices
    hanging: Hanging
    start: Array
    stored: Array
    modes: Integers
    is_current: Flags
    influence: Array
    joints: BoneJoints | None

    @property
    def skeleton(self) -> Skeleton:
        """The armature's bones."""
        return self.live_chains[0].skeleton

    @cached_property
    def specs(self) -> tuple[ChainSpec, ...]:
        """The settings of the chains."""
        return tuple([live_chain.spec for live_chain in self.live_chains])

    @property
    def is_tree(self) -> bool:
        """Whether its bones may branch: several chains, or a body."""
        return len(self.live_chains) > 1 or self.hanging.floats

    @property
    def weights(self) -> Array:
        """What the effectors count: their weights, faded out with their influences, shape (E,)."""
        specs = self.specs
        if len(specs) == 1:
            return np.ones(1)
        weights = np.array([spec.weight for spec in specs])
        faded = weights * [spec.influence for spec in specs]
        # With no influence at all the pose is the stored one, whatever is solved.
        return faded if faded.any() else weights

    @cached_property
    def options(self) -> SolveOptions:
        """One for all chains: what is finest, and goes on for longest."""
        each = [spec.options for spec in self.specs]
        if not self.is_tree:
            return each[0]
        turning = [self.specs[i].options for i in self.turning]
        is_newton = self.hanging.floats or any(one.solver is Solver.NEWTON for one in each)
        return SolveOptions(
            solver=Solver.NEWTON if is_newton else Solver.FABRIK,
            iterations=max(one.iterations for one in each),
            tolerance=min(one.tolerance for one in each),
            orient_weight=max([one.orient_weight for one in turning], default=0.0),
            soft_distance=min(one.soft_distance for one in each),
            use_finish=any(one.use_finish for one in each),
            stays_near=self.hanging.floats,
        )

    @cached_property
    def turning(self) -> tuple[int, ...]:
        """The chains whose tips take the orientations of their targets, at least in part."""
        return tuple(
            i
            for i, each in enumerate(self.live_chains)
            if each.plan.turns_tip and each.spec.options.orient_weight > 0.0
        )

    @cached_property
    def spread(self) -> tuple[Segment, ...]:
        """Along which segments turns are spread: those that one chain alone drives, by rows."""
        found, parents = list[Segment](), self.hanging.parents
        for chain, rows in enumerate(self.hanging.rows):
            for segment in self.live_chains[chain].plan.spread:
                own, changed = segment.among(rows), {rows[row] for row in segment.changed}
                others = self.hanging.rows[:chain] + self.hanging.rows[chain + 1 :]
                hung = {row for row, above in enumerate(parents) if above in own.rolled}
                if hung <= changed and all(changed.isdisjoint(other) for other in others):
                    found.append(own)
        return tuple(found)

    @cached_property
    def poled(self) -> tuple[int, ...]:
        """The chains that have poles."""
        return tuple(i for i, spec in enumerate(self.specs) if spec.pole is not None)

    @cached_property
    def root_chain(self) -> int:
        """The number of a chain whose root is that of all."""
        if self.hanging.floats:
            # All chains of a body write its root.
            return 0
        roots = [int(live_chain.plan.segments[0]) for live_chain in self.live_chains]
        return roots.index(int(self.bones[0]))

    @property
    def keeps_shape(self) -> bool:
        """Whether they can be solved in the space that the root turns in."""
        return self.live_chains[0].keeps_shape

    @property
    def batch_key(self) -> tuple[object, ...]:
        """What chains must have in common to be solved side by side."""
        live_chain, spec = self.live_chains[0], self.specs[0]
        options, force, plan = spec.options, spec.force, live_chain.plan
        drag = (options.lead, options.max_bend, options.use_anchor)
        return (
            self.hanging,
            self.spread,
            options.solver,
            options.orient_weight if plan.turns_tip else None,
            options.use_finish,
            (spec.pole is None, spec.pole_mode),
            live_chain.start_from is StartFrom.CURRENT,
            plan.ends_at_tail,
            tuple(self.modes.tolist()),
            None if self.joints is None else self.joints.kinds,
            None if force is None else (force.mode, force.gain, force.easing),
            drag if spec.is_dragged else None,
            live_chain.stretch is None,
            live_chain.slide is None,
        )


def driven_alone(live_chain: LiveChain) -> Driven:
    """Return what a chain drives that shares no bone with another one."""
    spec, plan = live_chain.spec, live_chain.plan
    count = len(plan.written)
    return Driven(
        live_chains=(live_chain,),
        bones=plan.written,
        hanging=Hanging.of_chain(live_chain.skeleton, plan),
        start=live_chain.start,
        stored=live_chain.stored,
        modes=live_chain.modes,
        is_current=np.full(count, live_chain.start_from is StartFrom.CURRENT),
        influence=np.full(count, spec.influence),
        joints=live_chain.joints,
    )
