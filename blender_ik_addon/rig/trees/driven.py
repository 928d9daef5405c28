"""The bones that are solved together: those of one chain, or of the chains of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...core import JointKind, Lead, SolveOptions, Solver, StepMode
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.algebra.twist_spread import Segment
from ..planning.bone_hierarchy import BoneHierarchy
from ..planning.live_chain import EVEN_SCALE, SHORTEST_SEGMENT, LiveChain
from ..planning.slide import ChainSlide
from ..reading.bone_joints import BoneJoints
from ..reading.channels import Integers
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec, Easing, PoleMode

# Greatest distance of a bone's ends from one line, relative to the distance of the farthest, that
# counts as on it: the error that float32 rest matrices leave between heads that meet.
MAX_OFF_LINE_SHARE = 5e-7


@dataclass(frozen=True, eq=False)
class Driven:
    """The k bones that E chains write together; one chain is a tree with one effector.

    Attributes:
        live_chains: The chains, in the order of the list.
        bones: Indices of the bones, every bone after its parent, shape (k,).
        hanging: The parents of the bones; bones of one generation are adjacent.
        start: Rotation channels of the start pose, shape (k, 4).
        stored: Rotation channels of the stored pose, shape (k, 4).
        modes: Rotation modes, shape (k,).
        is_current: Which bones start from the present pose, shape (k,).
        influence: Largest influence of the chains that write the bone, shape (k,).
        joints: Joints of the bones; None where all bones turn freely.
        ends: Effectors in the space of the posed bone that carries them, shape (E, 3).
        ways: Vectors from the parent's head to the bone's head in the space of the posed parent,
            shape (k, 3); that of the root is not used.
        scale: Scale channels, without the growth of stretch, shape (k, 3).
        locks: As ``Pose.locks``, shape (k, 4).
        uses_4d_locks: As ``Pose.uses_4d_locks``, shape (k,).
    """

    live_chains: tuple[LiveChain, ...]
    bones: Indices
    hanging: BoneHierarchy
    start: Array
    stored: Array
    modes: Integers
    is_current: Flags
    influence: Array
    joints: BoneJoints | None
    ends: Array
    ways: Array
    scale: Array
    locks: Flags
    uses_4d_locks: Flags

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
        """Weights of the effectors times the influences of their chains, shape (E,)."""
        specs = self.specs
        if len(specs) == 1:
            return np.ones(1)
        weights = np.array([spec.weight for spec in specs])
        faded = weights * [spec.influence for spec in specs]
        # If all influences are zero, the pose is the stored one anyway: avoid weights of zero.
        return faded if faded.any() else weights

    @property
    def stretches(self) -> bool:
        """Whether any bones may grow."""
        return any(live_chain.stretch is not None for live_chain in self.live_chains)

    @property
    def slide(self) -> ChainSlide | None:
        """How far bones may slide; None where no bone may."""
        return self.live_chains[0].slide

    @cached_property
    def options(self) -> SolveOptions:
        """Solver options for all chains: the strictest tolerance, the most iterations."""
        of_chains = [spec.options for spec in self.specs]
        if not self.is_tree:
            return of_chains[0]
        turning = [self.specs[i].options for i in self.turning_chains]
        is_newton = self.hanging.floats or any(one.solver is Solver.NEWTON for one in of_chains)
        return SolveOptions(
            solver=Solver.NEWTON if is_newton else Solver.FABRIK,
            iterations=max(one.iterations for one in of_chains),
            tolerance=min(one.tolerance for one in of_chains),
            orient_weight=max([one.orient_weight for one in turning], default=0.0),
            soft_distance=min(one.soft_distance for one in of_chains),
            use_finish=any(one.use_finish for one in of_chains),
            stays_near=self.hanging.floats,
        )

    @cached_property
    def turning_chains(self) -> tuple[int, ...]:
        """Numbers of the chains whose tips turn toward their targets' orientations."""
        return tuple(
            i
            for i, live_chain in enumerate(self.live_chains)
            if live_chain.plan.turns_tip and live_chain.spec.options.orient_weight > 0.0
        )

    @cached_property
    def spread(self) -> tuple[Segment, ...]:
        """Segments that spread twist, by rows: those that only one chain drives."""
        segments, parents = list[Segment](), self.hanging.parents
        for chain, rows in enumerate(self.hanging.rows):
            for segment in self.live_chains[chain].plan.spread:
                by_row, changed = segment.with_rows(rows), {rows[row] for row in segment.changed}
                others = self.hanging.rows[:chain] + self.hanging.rows[chain + 1 :]
                children = {row for row, above in enumerate(parents) if above in by_row.rolled}
                if children <= changed and all(changed.isdisjoint(other) for other in others):
                    segments.append(by_row)
        return tuple(segments)

    @cached_property
    def priorities(self) -> tuple[int, ...] | None:
        """Priorities of the targets in a body, 0 for pinned ones; None for other trees."""
        goals = [spec.body for spec in self.specs]
        if not self.hanging.floats:
            return None
        return tuple(goal.order for goal in goals if goal is not None)

    @cached_property
    def poled_chains(self) -> tuple[int, ...]:
        """Numbers of the chains that have poles."""
        return tuple(i for i, spec in enumerate(self.specs) if spec.pole is not None)

    @cached_property
    def root_chain(self) -> int:
        """Number of a chain whose root is the root of all the bones."""
        if self.hanging.floats:
            # All chains of a body write its root.
            return 0
        roots = [live_chain.plan.root for live_chain in self.live_chains]
        return roots.index(int(self.bones[0]))

    @property
    def segments(self) -> Array:
        """Vectors of a chain from head to next joint, in the posed bone's space, shape (n, 3)."""
        return np.concatenate((self.ways[1 : self.hanging.count], self.ends))

    @cached_property
    def levers(self) -> Array:
        """Farthest end of each bone in its space; zero if its ends are not on one line, (n, 3)."""
        ends: list[list[Array]] = [[] for _ in range(self.hanging.count)]
        for row in range(1, self.hanging.count):
            ends[self.hanging.parents[row]].append(self.ways[row])
        for carrier, end in zip(self.hanging.carriers, self.ends, strict=True):
            ends[carrier].append(end)
        return np.array([_direction(np.array(bone_ends)) for bone_ends in ends])

    @cached_property
    def keeps_shape(self) -> bool:
        """Whether the bones keep their shape in any even space that the root turns in.

        Every bone inherits the whole transform of its parent. In a chain, no bone is scaled
        unevenly either: then turning one bone turns all bones below it.
        """
        if self.hanging.floats or not self.skeleton.takes_whole_parent[self.bones[1:]].all():
            return False
        return self.is_tree or self._is_rigid

    @property
    def _is_rigid(self) -> bool:
        spec, plan, count = self.specs[0], self.live_chains[0].plan, self.hanging.count
        turns_tip_of_segment = bool(self.turning_chains) and plan.ends_at_tail
        fits = spec.options.solver is not Solver.TWO_BONE or count - turns_tip_of_segment == 2
        # Chains that stretch, slide, ease or are dragged are solved in armature space.
        goes_elsewhere = spec.use_stretch or spec.depends_on_time or self.slide is not None
        is_square = self.skeleton.has_square_rest[self.bones[1:]].all()
        if goes_elsewhere or not (fits and is_square):
            return False
        scale = self.scale
        segments = self.segments * scale[:count]
        lengths = np.sqrt(np.einsum("ij,ij->i", segments, segments))
        lengths[1:] *= np.cumprod(scale[: count - 1, 1])
        is_sound = np.isfinite(lengths).all() and (scale > 0.0).all()
        if not is_sound or (lengths <= SHORTEST_SEGMENT * lengths.sum()).any():
            return False
        uneven = np.ptp(scale[:-1], axis=1) > EVEN_SCALE * scale[:-1].max(axis=1)
        return not uneven.any()

    @cached_property
    def batch_key(self) -> BatchKey:
        """Key that chains or trees solved side by side have in common."""
        options, joints = self.options, self.joints
        force = self.specs[0].force
        is_dragged = self.specs[0].is_dragged
        lengths = None
        if self.is_tree:
            # The core solves trees together only if the same bones have no length, or branch.
            vectors = self.ways[1:], self.ends, self.levers
            lengths = tuple(tuple(rows.any(axis=1).tolist()) for rows in vectors)
        return BatchKey(
            hanging=self.hanging,
            spread=self.spread,
            modes=tuple(self.modes.tolist()),
            is_current=tuple(self.is_current.tolist()),
            solver=options.solver,
            use_finish=options.use_finish,
            tips=tuple([_tip_of(chain) for chain in self.live_chains]),
            poles=tuple([(spec.pole is None, spec.pole_mode) for spec in self.specs]),
            kinds=None if joints is None else joints.kinds,
            force=None if force is None else (force.mode, force.gain, force.easing),
            drag=(options.lead, options.max_bend, options.use_anchor) if is_dragged else None,
            stretches=self.stretches,
            slides=self.slide is not None,
            has_free_joints=self.is_tree and joints is not None and joints.is_free,
            lengths=lengths,
        )


class BatchKey(NamedTuple):
    """The settings that chains or trees solved side by side have in common.

    All that is not listed is as in ``Driven``, in its options, and in its joints.

    Attributes:
        tips: For each chain, whether its tail is the effector, and the weight of its tip's turn;
            None if the tip does not turn.
        poles: For each chain, whether it has no pole, and its pole mode.
        force: Step mode, gain and easing of a force.
        drag: Settings of chains that are dragged.
        has_free_joints: For trees, whether the joints leave all bones free.
        lengths: For trees, which bones have lengths, and which have their ends on one line.
        body: Further settings that bodies have in common.
    """

    hanging: BoneHierarchy
    spread: tuple[Segment, ...]
    modes: tuple[int, ...]
    is_current: tuple[bool, ...]
    solver: Solver
    use_finish: bool
    tips: tuple[tuple[bool, float | None], ...]
    poles: tuple[tuple[bool, PoleMode], ...]
    kinds: tuple[JointKind, ...] | None
    force: tuple[StepMode, float | None, Easing | None] | None
    drag: tuple[Lead, float, bool] | None
    stretches: bool
    slides: bool
    has_free_joints: bool
    lengths: tuple[tuple[bool, ...], ...] | None
    body: tuple[object, ...] = ()


def _tip_of(chain: LiveChain) -> tuple[bool, float | None]:
    weight = float(chain.spec.options.orient_weight) if chain.plan.turns_tip else None
    return chain.plan.ends_at_tail, weight


def _direction(ends: Array) -> Array:
    """Return the farthest end of a bone, or zero if its ends are not on one line."""
    squares = np.einsum("ij,ij->i", ends, ends)
    longest: Array = ends[int(np.argmax(squares))]
    aside = np.linalg.norm(np.cross(ends, longest), axis=1)
    return longest * (len(ends) == 1 or bool((aside <= MAX_OFF_LINE_SHARE * np.max(squares)).all()))
