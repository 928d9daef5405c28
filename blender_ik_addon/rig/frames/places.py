"""Where chains hang that are solved in the spaces of their armatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..planning.live_chain import LiveChain
from ..reading.channels import Pose
from ..reading.spec import NegativeScale

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Places:
    """Where B chains hang.

    Attributes:
        world: World matrices of the armature objects, shape (B, 4, 4).
        largest: The most that one in armature space is in scene units, shape (B,).
        is_flat: Which armature objects are scaled flat, shape (B,).
        above: Pose matrices of the roots' parents, identity without, shape (B, 4, 4).
        head: The roots' heads, armature space, shape (B, 3).
        unmirrored: Linear maps of armature space after which the world matrices show what they
            would show without negative scale, shape (B, 3, 3).
        keeps: Which chains shall bend as if nothing were mirrored, and are, shape (B,).
    """

    world: Array
    largest: Array
    is_flat: Flags
    above: Array
    head: Array
    unmirrored: Array
    keeps: Flags


def find_places(
    live_chains: Sequence[LiveChain], poses: Sequence[Pose], unmirrored: Sequence[Array | None]
) -> Places:
    """Return where chains hang.

    Args:
        live_chains: The chains.
        poses: Of their armature objects.
        unmirrored: What shows these without negative scale; None where nothing mirrors them.
    """
    world = np.array([pose.world for pose in poses])
    sizes = np.linalg.svd(world[:, :3, :3], compute_uv=False)
    roots = [int(live_chain.job.plan.segments[0]) for live_chain in live_chains]
    above = [
        int(live_chain.job.skeleton.parents[root])
        for live_chain, root in zip(live_chains, roots, strict=True)
    ]
    keeps = [
        shown is not None and live_chain.job.spec.negative_scale is NegativeScale.KEEP
        for live_chain, shown in zip(live_chains, unmirrored, strict=True)
    ]
    nothing = np.eye(3)
    return Places(
        world=world,
        largest=sizes[:, 0],
        is_flat=sizes[:, 2] <= sizes[:, 0] * 3.0 * np.finfo(float).eps,
        above=np.array(
            [
                pose.matrices[parent] if parent >= 0 else np.eye(4)
                for pose, parent in zip(poses, above, strict=True)
            ]
        ),
        head=np.array(
            [pose.matrices[root][:3, 3] for pose, root in zip(poses, roots, strict=True)]
        ),
        unmirrored=np.array([nothing if shown is None else shown for shown in unmirrored]),
        keeps=np.array(keeps),
    )
