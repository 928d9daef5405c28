"""One compiled live chain: the data of a solve that stay while only targets and parents move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.bone_joints import BoneJoints, read_joints
from ..reading.chain_plan import ChainPlan, plan_chain
from ..reading.spec import ChainSpec
from .joints_of_chain import chain_joints
from .known_skeletons import skeleton_of
from .order import PlannedChain
from .slide import ChainSlide
from .stretch import ChainStretch

# Scales that differ by less count as even.
EVEN_SCALE = 1e-6
# Segments shorter than this share of the chain have no length.
SHORTEST_SEGMENT = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class LiveChain(PlannedChain):
    """One compiled live chain.

    Attributes:
        start: Rotation channels of its start pose, shape (k, 4).
        stored: Rotation channels of the stored pose, shape (k, 4).
        is_settled: Whether the start depends on neither keyframes nor the present pose.
        joints: Joints of the written bones; None if all turn freely.
        stretch: Limits of their growth; None if none grows.
        slide: Limits of their slides; None if none slides.
        home: Location channels of its body's root without the body, shape (3,); otherwise None.
    """

    start: Array
    stored: Array
    is_settled: bool
    joints: BoneJoints | None
    stretch: ChainStretch | None
    slide: ChainSlide | None = None
    home: Array | None = None

    def by_itself(self) -> LiveChain:
        """Return the chain alone, without the body that it belongs to."""
        plan = self.plan.by_itself
        count = len(plan.written)
        return replace(
            self,
            plan=plan,
            # A chain of a body starts where the body does.
            spec=replace(self.spec, start_from=self.start_from),
            start=self.start[:count],
            stored=self.stored[:count],
            joints=None if self.joints is None else self.joints.take(np.arange(count)),
            stretch=None if self.stretch is None else self.stretch.of_first(count),
            slide=None if self.slide is None else self.slide.of_first(count),
            home=None,
        )

    def is_like(self, other: LiveChain) -> bool:
        """Return whether the same chain has the same start and limits."""
        names = ("start", "stored", "joints", "stretch", "slide", "home")
        return all(is_same(getattr(self, name), getattr(other, name)) for name in names)

    @property
    def can_grow(self) -> bool:
        """Whether any bone of the chain itself grows."""
        if self.stretch is None:
            return False
        return bool(self.stretch.of_first(len(self.plan.by_itself.written)).can_grow)

    @property
    def only_turns(self) -> bool:
        """Whether it is one bone that neither grows, slides nor is dragged, so it cannot reach."""
        spec, is_one = self.spec, len(self.plan.segments) == 1
        return is_one and self.stretch is None and self.slide is None and not spec.is_dragged


Known = ChainSpec | LiveChain
"""A chain as solved last, or its settings alone: then its bones and joints are read."""


def spec_of(known: Known) -> ChainSpec:
    """Return the settings of a chain."""
    return known.spec if isinstance(known, LiveChain) else known


def known_chain(
    armature_object: bpy.types.Object, known: Known
) -> tuple[ChainPlan, BoneJoints | None]:
    """Return the bones of a chain of an original armature object, and their joints.

    Raises:
        RigError: If the chain has no bones, or one of its joints cannot be used.
    """
    if isinstance(known, LiveChain):
        return known.plan, known.joints
    plan = plan_chain(skeleton_of(armature_object), known)
    return plan, chain_joints(read_joints(armature_object), plan, known)


def is_same(one: Any, other: Any) -> bool:
    """Return whether two arrays, records of arrays, or None are equal."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    # Its fields, not what it has cached: the other record would compute that first.
    names = one.__dataclass_fields__
    return all(is_same(getattr(one, name), getattr(other, name)) for name in names)
