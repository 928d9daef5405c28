"""The bones of a tree under their one root's parent, posed by local rotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import spaces
from .channels import Pose
from .tree_plan import TreePlan

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TreePose:
    """A posed tree of k bones and E effectors, armature space.

    Attributes:
        rotations: Local rotation matrices, shape (k, 3, 3).
        frames: In which they act, shape (k, 3, 3).
        matrices: Pose matrices, shape (k, 3, 3).
        heads: Shape (k, 3).
        effectors: Shape (E, 3).
    """

    rotations: Array
    frames: Array
    matrices: Array
    heads: Array
    effectors: Array


@dataclass(frozen=True)
class TreeFrame:
    """What of a tree stays while its bones rotate.

    Attributes:
        plan: The tree.
        frames: Rest frames of its bones, k of them.
        scale: Their scale channels, shape (k, 3).
        parent: Pose matrix of the root's parent, identity without, shape (3, 3).
        root: The root's head, armature space, shape (3,).
    """

    plan: TreePlan
    frames: tuple[spaces.RestFrames, ...]
    scale: Array
    parent: Array
    root: Array

    def posed(self, rotations: Array) -> TreePose:
        """Return the tree posed by local rotations, shape (k, 3, 3)."""
        return self.walked(lambda row, _: rotations[row])

    def walked(self, local: Callable[[int, spaces.ParentFrames], Array]) -> TreePose:
        """Pose bone after bone, the root first, each by the local rotation (3, 3) of a function.

        Args:
            local: Takes the bone's row and the space that it turns in.
        """
        plan, size = self.plan, (len(self.frames), 3, 3)
        rotations, frames, matrices = np.empty(size), np.empty(size), np.empty(size)
        heads = np.empty(size[:2])
        for row, above in enumerate(plan.parents.tolist()):
            parent = self.parent if above < 0 else matrices[above]
            frame = spaces.parent_frames(parent, self.frames[row])
            frames[row], rotations[row] = frame.rs, local(row, frame)
            matrices[row] = spaces.pose_from_local(frame, rotations[row], self.scale[row])
            heads[row] = self.root if above < 0 else heads[above] + parent @ plan.ways[row]
        on = plan.carriers
        effectors = heads[on] + np.einsum("eij,ej->ei", matrices[on], plan.ends)
        return TreePose(rotations, frames, matrices, heads, effectors)

    def hints(self, pose: TreePose) -> Array:
        """Return where bones in one line bend, shape (k, 3)."""
        hints = np.zeros_like(pose.heads)
        for own, side in reversed(list(zip(self.plan.rows, self.plan.bends, strict=True))):
            hints[own] = pose.matrices[own[0]] @ side
        return hints

    def lengths(self, pose: TreePose, world: Array) -> Array:
        """Return the ways from the root to the effectors along the bones, scene units, (E,)."""
        parents, plan = self.plan.parents, self.plan
        way = np.zeros(len(pose.heads))
        for row, above in enumerate(parents.tolist()):
            if above >= 0:
                step = world @ (pose.heads[row] - pose.heads[above])
                way[row] = way[above] + np.linalg.norm(step)
        last = (pose.effectors - pose.heads[plan.carriers]) @ world.T
        lengths: Array = way[plan.carriers] + np.linalg.norm(last, axis=1)
        return lengths


def framed_tree(plan: TreePlan, pose: Pose) -> TreeFrame:
    """Return what of a tree stays while its bones rotate."""
    skeleton = plan.skeleton
    root = int(plan.bones[0])
    parent = int(skeleton.parents[root])
    return TreeFrame(
        plan=plan,
        frames=tuple(skeleton.frames.take(bone) for bone in plan.bones),
        scale=pose.scale[plan.bones],
        parent=pose.matrices[parent][:3, :3] if parent >= 0 else np.eye(3),
        root=pose.matrices[root][:3, 3],
    )
