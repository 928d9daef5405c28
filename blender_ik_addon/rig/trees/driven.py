"""What is solved together: a chain alone, or the chains of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...core import JointKind, Lead, SolveOptions, Solver, StepMode
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.algebra.twist_spread import Segment
from ..planning.hanging import Hanging
from ..planning.live_chain import EVEN_SCALE, SHORTEST_SEGMENT, LiveChain
from ..planning.slide import ChainSlide
from ..reading.bone_joints import BoneJoints
from ..reading.channels import Integers
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec, Easing, PoleMode

# Ends of a bone that lie off one line by less than this, as a share of their distance, are on it:
# so much do rest matrices leave of heads that meet, in float32.
ON_LINE = 5e-7


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
        ends: Effectors in the space of the posed bone that carries them, shape (E, 3).
        ways: From the parent's head to the bone's in the space of the posed parent, shape (k, 3);
            that of the root is not used.
        scale: Scale channels; of bones that may grow without their growth, shape (k, 3).
        locks: As ``Pose.locks``, shape (k, 4).
        uses_4d_locks: As ``Pose.uses_4d_locks``, shape (k,).
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
        """What the effectors count: their weights, faded out with their influences, shape (E,)."""
        specs = self.specs
        if len(specs) == 1:
            return np.ones(1)
        weights = np.array([spec.weight for spec in specs])
        faded = weights * [spec.influence for spec in specs]
        # With no influence at all the pose is the stored one, whatever is solved.
        return faded if faded.any() else weights

    @property
    def stretches(self) -> bool:
        """Whether any bones may grow."""
        return any(live_chain.stretch is not None for live_chain in self.live_chains)

    @property
    def slide(self) -> ChainSlide | None:
        """How far bones may slide; None where none is to."""
        return self.live_chains[0].slide

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
    def priorities(self) -> tuple[int, ...] | None:
        """Of the targets in a body, 0 of those that are pinned; None where all count at once."""
        goals = [spec.body for spec in self.specs]
        if not self.hanging.floats:
            return None
        return tuple(0 if goal.is_pinned else goal.priority for goal in goals if goal is not None)

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
        roots = [live_chain.plan.root for live_chain in self.live_chains]
        return roots.index(int(self.bones[0]))

    @property
    def segments(self) -> Array:
        """Of a chain, from head to next joint in the space of the posed bone, shape (n, 3)."""
        return np.concatenate((self.ways[1 : self.hanging.count], self.ends))

    @cached_property
    def levers(self) -> Array:
        """Where the ends of each bone lie in its space, zero where not in one direction, (n, 3)."""
        ends: list[list[Array]] = [[] for _ in range(self.hanging.count)]
        for row in range(1, self.hanging.count):
            ends[self.hanging.parents[row]].append(self.ways[row])
        for carrier, end in zip(self.hanging.carriers, self.ends, strict=True):
            ends[carrier].append(end)
        return np.array([_direction(np.array(each)) for each in ends])

    @cached_property
    def keeps_shape(self) -> bool:
        """Whether the bones stand to each other as they do, whatever space the root turns in.

        Each bone hangs wholly on the one before it. Of a chain none is scaled unevenly, either:
        then turning one bone turns all below it.
        """
        if self.hanging.floats or not self.skeleton.takes_whole_parent[self.bones[1:]].all():
            return False
        return self.is_tree or self._is_rigid

    @property
    def _is_rigid(self) -> bool:
        spec, plan, count = self.specs[0], self.live_chains[0].plan, self.hanging.count
        turns_tip_of_segment = bool(self.turning) and plan.ends_at_tail
        fits = spec.options.solver is not Solver.TWO_BONE or count - turns_tip_of_segment == 2
        # A chain that eases depends on more than its target; those that are dragged go another way.
        goes_elsewhere = spec.use_stretch or spec.goes_on or self.slide is not None
        is_square = self.skeleton.has_square_rest[self.bones[1:]].all()
        if goes_elsewhere or not (fits and is_square):
            return False
        scale = self.scale
        own = self.segments * scale[:count]
        lengths = np.sqrt(np.einsum("ij,ij->i", own, own))
        lengths[1:] *= np.cumprod(scale[: count - 1, 1])
        is_sound = np.isfinite(lengths).all() and (scale > 0.0).all()
        if not is_sound or (lengths <= SHORTEST_SEGMENT * lengths.sum()).any():
            return False
        uneven = np.ptp(scale[:-1], axis=1) > EVEN_SCALE * scale[:-1].max(axis=1)
        return not uneven.any()

    @cached_property
    def batch_key(self) -> BatchKey:
        """What chains or trees must have in common to be solved side by side."""
        options, joints = self.options, self.joints
        force = self.specs[0].force
        is_dragged = self.specs[0].is_dragged
        lengths = None
        if self.is_tree:
            # The core takes bones without length, and such as branch, together.
            every = self.ways[1:], self.ends, self.levers
            lengths = tuple(tuple(each.any(axis=1).tolist()) for each in every)
        return BatchKey(
            hanging=self.hanging,
            spread=self.spread,
            modes=tuple(self.modes.tolist()),
            is_current=tuple(self.is_current.tolist()),
            solver=options.solver,
            use_finish=options.use_finish,
            tips=tuple([_tip_of(each) for each in self.live_chains]),
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
    """What chains or trees must have in common to be solved side by side.

    Attributes:
        hanging: How their bones hang.
        spread: Along which segments turns are spread.
        modes: Rotation modes of the bones.
        is_current: Which bones start from what stands there.
        solver: Of all of them.
        use_finish: Whether NEWTON finishes what sweeps leave.
        tips: Of each chain, whether its tail is the effector, and how much its tip turns; None for
            one that does not.
        poles: Of each chain, whether it has none, and what tells its side.
        kinds: Of the joints.
        force: How it acts.
        drag: How they are dragged.
        stretches: Whether bones may grow.
        slides: Whether bones may slide.
        has_free_joints: Of trees, whether the joints leave all bones free.
        lengths: Of trees, which bones have lengths, and which have ends in one direction.
        body: What else bodies must have in common.
    """

    hanging: Hanging
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
    """Return the farthest of the ends of a bone, or zero where they lie not in one direction."""
    squares = np.einsum("ij,ij->i", ends, ends)
    longest: Array = ends[int(np.argmax(squares))]
    aside = np.linalg.norm(np.cross(ends, longest), axis=1)
    return longest * (len(ends) == 1 or bool((aside <= ON_LINE * np.max(squares)).all()))
