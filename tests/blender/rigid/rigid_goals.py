"""What random chains of rigid bones are asked for: their settings, targets and poles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
import numpy.typing as npt

from tests.blender.setups import rigs
from tests.core.chains import random_direction, unit

Array = npt.NDArray[np.float64]

STRAIGHT = "Straight "
"""How the bones are named of chains that are straight at rest."""
# Sweeps of these take long, and whether they arrive is not the question here.
CAPS = {"FABRIK": 12, "CCD": 12}
# Of the way from the least reach to the whole, of the whole, and of the least: away from where
# the last digits of float32 decide the pose.
SHARES = {"in reach": (0.3, 0.9), "too far": (1.05, 3.0), "too near": (0.2, 0.8)}


@dataclass(frozen=True)
class Kind:
    """What chains have in common that are solved side by side.

    Attributes:
        solver: Its name.
        count: Bones between root and effector.
        has_pole: Whether the chain has a pole.
        use_tail: Whether the effector is the tip bone's tail.
        weight: Of the target's rotation; None without it.
        modes: Rotation modes of the bones from the root on, the tip's last.
    """

    solver: str
    count: int
    has_pole: bool = False
    use_tail: bool = True
    weight: float | None = None
    modes: tuple[str, ...] = ()

    @property
    def bones(self) -> int:
        """The number of bones, that of a tip beyond the effector included."""
        return self.count + (not self.use_tail)


class Joints:
    """Where the bones of a rig stand, armature space."""

    def __init__(self, ob: bpy.types.Object) -> None:
        posed = rigs.evaluated(ob)
        self.world = np.array(posed.matrix_world)
        self.heads = {bone.name: np.array(bone.head) for bone in posed.pose.bones}
        self.tails = {bone.name: np.array(bone.tail) for bone in posed.pose.bones}

    def of(self, bones: Sequence[str], kind: Kind) -> Array:
        """Return the joints from the root to the effector, shape (count + 1, 3)."""
        heads = [self.heads[bone] for bone in bones]
        return np.array([*heads, self.tails[bones[-1]]])[: kind.count + 1]


def follow(
    ob: bpy.types.Object,
    bones: list[str],
    kind: Kind,
    joints: Joints,
    rng: np.random.Generator,
) -> None:
    """Add a chain with random settings, and its target and pole."""
    name = f"{ob.name} {bones[-1]}"
    target = rigs.make_empty(f"{name} Target", (0.0, 0.0, 0.0))
    target.rotation_euler = rng.uniform(-3.0, 3.0, 3)
    target.scale = rng.uniform(0.5, 2.0, 3)
    # Folding a straight chain turns bones over, about an axis that rounding decides.
    can_fold = not bones[0].startswith(STRAIGHT)
    at, around = _asked(joints, joints.of(bones, kind), target, kind, rng, can_fold=can_fold)
    world = joints.world[:3, :3]
    target.location = world @ at + joints.world[:3, 3]
    pole = None
    if kind.has_pole:
        pole = rigs.make_empty(f"{name} Pole", world @ around + joints.world[:3, 3])
    is_mirrored = np.linalg.det(world) < 0.0
    settings = {} if kind.weight is None else {"use_rotation": True, "orient_weight": kind.weight}
    rigs.add_chain(
        ob,
        bones[-1],
        target,
        name=name,
        solver=kind.solver,
        chain_count=kind.count,
        use_tail=kind.use_tail,
        pole_target=pole,
        pole_angle=rng.uniform(-7.0, 7.0),
        use_flip_bend=rng.random() < 0.5,
        negative_scale="MIRROR" if is_mirrored or rng.random() < 0.5 else "KEEP",
        start_from="KEYED" if rng.random() < 0.6 else "REST",
        iterations=CAPS.get(kind.solver, 500),
        use_finish=kind.solver not in CAPS,
        tolerance=10.0 ** rng.uniform(-5.0, -3.0),
        **settings,
    )


def _asked(
    joints: Joints,
    chain: Array,
    target: bpy.types.Object,
    kind: Kind,
    rng: np.random.Generator,
    *,
    can_fold: bool,
) -> tuple[Array, Array]:
    """Return a target and a pole in armature space."""
    lengths = np.linalg.norm(np.diff(chain, axis=0), axis=1)
    tip = np.zeros(3)
    if kind.weight == 1.0 and kind.use_tail:
        # The tip bone lies along the target's Y axis, and the others bring its head there.
        y_axis = np.array(target.rotation_euler.to_matrix())[:, 1]
        tip = lengths[-1] * unit(np.linalg.solve(joints.world[:3, :3], y_axis))
        lengths = lengths[:-1]
    reach = lengths.sum()
    least = max(0.0, 2.0 * lengths.max(initial=0.0) - reach)
    can_fold = can_fold and least > 0.1 * reach and len(lengths) > 1
    region = str(rng.choice(list(SHARES)[: 2 + can_fold]))
    share = rng.uniform(*SHARES[region])
    distance = {
        "in reach": least + share * (reach - least),
        "too far": share * reach,
        "too near": share * least,
    }[region]
    along = random_direction(rng)
    aside = unit(np.cross(along, random_direction(rng)))
    angle = rng.uniform(np.radians(30.0), np.radians(150.0))
    pole = 2.0 * lengths.sum() * (np.cos(angle) * along + np.sin(angle) * aside)
    return chain[0] + distance * along + tip, chain[0] + pole
