"""What chains alike are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...core import Forces, SolveOptions, Solver
from ..planning.live_chain import LiveChain
from ..reading.chain_plan import ChainPlan
from ..reading.channels import Pose
from ..reading.spec import ChainSpec, StartFrom
from .bone_channels import BoneChannels
from .chain_joints import ChainJoints

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Pick = slice | npt.NDArray[np.int64]


def batch_key(live_chain: LiveChain) -> tuple[object, ...]:
    """Return what chains must have in common to be solved side by side."""
    spec, plan = live_chain.job.spec, live_chain.job.plan
    options, force = spec.options, spec.force
    return (
        options.solver,
        options.orient_weight if spec.use_rotation else None,
        options.use_finish,
        spec.pole is None,
        spec.start_from is StartFrom.CURRENT,
        plan.ends_at_tail,
        len(plan.segments),
        tuple(live_chain.modes.tolist()),
        None if live_chain.joints is None else live_chain.joints.kinds,
        None if force is None else (force.mode, force.gain, force.easing),
        (options.lead, options.max_bend, options.use_anchor)
        if options.solver is Solver.FOLLOW
        else None,
        live_chain.stretch is None,
        live_chain.slide is None,
        tuple(live_chain.job.skeleton.frames.use_inherit_rotation[plan.segments[1:]].tolist()),
    )


@dataclass(frozen=True)
class BatchSettings:
    """The settings of B chains alike of k written bones. Arrays have one row a chain.

    Attributes:
        spec: Of the first one: what all have in common.
        plan: Its bones; of the others only the indices differ.
        channels: Of the bones.
        options: With tolerance and soft distance in scene units.
        pole_angle: Radians, shape (B,).
        influence: Shape (B,).
        joints: None for chains whose joints turn freely.
    """

    spec: ChainSpec
    plan: ChainPlan
    channels: BoneChannels
    options: SolveOptions
    pole_angle: Array
    influence: Array
    joints: ChainJoints | None

    @classmethod
    def of(cls, live_chains: Sequence[LiveChain], poses: Sequence[Pose]) -> BatchSettings:
        """Return the settings of chains that have the same ``batch_key``, in these poses."""
        placed = [
            (pose, live_chain.job.plan.written)
            for live_chain, pose in zip(live_chains, poses, strict=True)
        ]
        specs = [live_chain.job.spec for live_chain in live_chains]
        each, first = [spec.options for spec in specs], live_chains[0]
        joints = ChainJoints.of([live_chain.joints for live_chain in live_chains])
        bones = [np.ones(len(live_chain.stored)) for live_chain in live_chains]
        return cls(
            spec=specs[0],
            plan=first.job.plan,
            channels=BoneChannels.of(
                placed,
                [live_chain.stored for live_chain in live_chains],
                [ones * spec.influence for ones, spec in zip(bones, specs, strict=True)],
                joints,
            ),
            options=replace(
                each[0],
                iterations=np.array([int(own.iterations) for own in each]),
                tolerance=np.array([float(own.tolerance) for own in each]),
                use_flip_bend=np.array([bool(own.use_flip_bend) for own in each]),
                soft_distance=np.array([float(own.soft_distance) for own in each]),
            ),
            pole_angle=np.array([spec.pole_angle for spec in specs]),
            influence=np.array([spec.influence for spec in specs]),
            joints=joints,
        )

    def __len__(self) -> int:
        """Return the number of chains."""
        return len(self.influence)

    @property
    def is_current(self) -> bool:
        """Whether chains start from what stands there."""
        return self.spec.start_from is StartFrom.CURRENT

    @property
    def turns_tip(self) -> bool:
        """Whether tips take the rotation of their targets, at least in part."""
        return self.spec.use_rotation and self.spec.options.orient_weight > 0.0

    @property
    def bends_without_tip(self) -> bool:
        """Whether the last segment of a chain of several is turned, and does not bend."""
        return self.spec.use_rotation and self.plan.ends_at_tail and len(self.plan.segments) > 1

    def with_optimum(self, forces: Forces | None, pick: Pick) -> Forces | None:
        """Return forces on some of the chains, whose springs rest in the stored pose if need be."""
        if forces is None or self.joints is None or not self.is_current:
            return forces
        # Springs that rest where the bones stand now would give way at every update.
        zero = self.channels.zero[pick, : forces.shape[-1]]
        return replace(forces, optimum_wxyz=self.joints.take(pick).turns_of(zero))
