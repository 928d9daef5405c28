"""Rigs with Blender's IK constraints to convert, and their evaluated joints."""

from collections.abc import Callable, Sequence

import bpy
import numpy as np
from mathutils import Vector

from tests.blender.setups import rigs, scaled_rigs, ties
from tests.blender.setups.selecting import press, select_bones
from tests.helpers import Array, make_rng

CHAIN, CONSTRAINT = "chain_ik.chains[0]", 'pose.bones["Bone.1"].constraints["IK"]'
FRAMES = (1.0, 4.5, 8.0, 13.0, 20.0)
convert = bpy.ops.pose.chain_ik_convert
CLOSE = 1e-3
"""Tolerance of joints, as a share of the limb's length: Blender's constraint is that exact."""
SETTINGS = (
    *("name", "bone", "chain_count", "solver", "target", "subtarget", "pole_target", "mute"),
    *("influence", "weight", "use_tail", "use_rotation", "orient_weight", "iterations"),
)


class Limb:
    """A random limb with target and pole, in a random pose, below a bone that is also turned."""

    def __init__(
        self,
        seed: int,
        count: int = 2,
        *,
        use_pole: bool = True,
        name: str = "Rig",
        turn: float = 0.35,
        bend: float = 1.0,
        reach: tuple[float, float] = (0.45, 0.9),
    ) -> None:
        rng = make_rng(seed)
        self.ob = rigs.make_armature(name)
        rigs.add_bones(self.ob, [(0.2, 0.1, -0.7), (0.0, 0.0, 0.0)], prefix="Root")
        rolls = rng.uniform(-np.pi, np.pi, count)
        joints = rigs.zigzag(count, seed)
        joints *= rng.uniform(0.7, 1.3) * np.array((bend, bend, 1.0))
        self.bones = rigs.add_bones(
            self.ob,
            joints,
            parent="Root.0",
            rolls=rolls,
            modes=list(rng.choice(rigs.ROTATION_MODES, count)),
        )
        rigs.turn_bones(self.ob, seed, turn)
        self.ob.location, self.ob.rotation_euler = rng.normal(size=(2, 3))
        rigs.updated()
        self.length = scaled_rigs.limb_length(self.ob, self.bones)
        root = rigs.head(self.ob, self.bones[0])
        chord = rigs.tail(self.ob, self.bones[-1]) - root
        chord = chord / np.linalg.norm(chord) + rng.normal(size=3) * 0.5
        point = root + chord / np.linalg.norm(chord) * self.length * rng.uniform(*reach)
        self.target = rigs.make_empty(f"{name} Target", point)
        self.target.rotation_euler = rng.normal(size=3)
        self.pole = (
            rigs.make_empty(f"{name} Pole", root + rng.normal(size=3) * 3.0) if use_pole else None
        )
        rigs.change(self, angle=float(rng.uniform(-3.0, 3.0)))

    @property
    def chain(self) -> bpy.types.PropertyGroup:
        (chain,) = self.ob.chain_ik.chains
        return chain

    @property
    def constraint(self) -> bpy.types.KinematicConstraint:
        (constraint,) = ik_constraints(self.ob)
        return constraint

    def constrain(self, **settings: object) -> bpy.types.KinematicConstraint:
        settings = {"chain_count": len(self.bones), "pole_angle": self.angle, **settings}
        constraint = constrain(self.ob, self.bones[-1], self.target, self.pole, **settings)
        rigs.updated()
        return constraint

    def add_chain(self, **settings: object) -> bpy.types.PropertyGroup:
        """Add a chain that ends at the tip."""
        settings = {"chain_count": len(self.bones), "pole_angle": self.angle, **settings}
        chain = rigs.add_chain(
            self.ob, self.bones[-1], self.target, pole_target=self.pole, **settings
        )
        rigs.updated()
        return chain

    def add(self, direction: str, **settings: object) -> None:
        """Add what a conversion in this direction converts: a constraint or a chain."""
        (self.constrain if direction == "TO_CHAINS" else self.add_chain)(**settings)

    def convert(self, direction: str) -> None:
        select_bones(self.ob, [self.bones[-1]])
        press(convert, direction=direction)

    def joints(self, depsgraph: bpy.types.Depsgraph | None = None) -> Array:
        """Return the evaluated joints, world space, shape (n + 1, 3)."""
        return scaled_rigs.joints(self.ob, self.bones, depsgraph)

    def max_gap(self, others: Array) -> float:
        """Return the largest distance from joints to others, as a share of the limb's length."""
        return float(np.linalg.norm(self.joints() - others, axis=1).max() / self.length)


def constrain(
    ob: bpy.types.Object,
    bone: str,
    target: bpy.types.Object | None,
    pole: bpy.types.Object | None = None,
    **settings: object,
) -> bpy.types.KinematicConstraint:
    settings = {"target": target, "pole_target": pole, **settings}
    return ties.constrain(ob.pose.bones[bone], "IK", **settings)


def ik_constraints(ob: bpy.types.Object) -> list[bpy.types.KinematicConstraint]:
    return [item for bone in ob.pose.bones for item in bone.constraints if item.type == "IK"]


def to_chains(ob: bpy.types.Object, *bones: str) -> None:
    """Convert the constraints of the given bones, by default of all, as the button does."""
    select_bones(ob, bones or [ob.pose.bones[0].name])
    press(convert, use_all=not bones)


def to_constraints(ob: bpy.types.Object, *, use_all: bool = True) -> None:
    """Convert the active chain, or all chains, as the button does."""
    # Selecting a bone of another chain would make that chain active.
    select_bones(ob, [ob.chain_ik.chains[ob.chain_ik.active_index].bone])
    press(convert, direction="TO_CONSTRAINTS", use_all=use_all)


def settings_of(constraint: bpy.types.KinematicConstraint) -> dict[str, object]:
    """Return all settings of a constraint; floats are rounded, for float32 and angles."""
    settings: dict[str, object] = {}
    for prop in constraint.bl_rna.properties:
        value = getattr(constraint, prop.identifier)
        if not prop.is_readonly and prop.identifier not in {"active", "show_expanded"}:
            settings[prop.identifier] = round(value, 4) if isinstance(value, float) else value
    return settings


def two_limbs() -> bpy.types.Object:
    """Return a rig with a constraint on each of two limbs."""
    ob = rigs.make_armature()
    for i, limb in enumerate(("Left", "Right")):
        offset = np.array([2.0 * i, 0.0, 0.0])
        tip = rigs.add_bones(ob, np.add(rigs.ARM, offset), prefix=limb)[-1]
        target = rigs.make_empty(f"{limb} Target", np.add(offset, (0.6, 0.5, 1.2)))
        constrain(ob, tip, target, name=limb, chain_count=2)
    rigs.updated()
    return ob


def settings_and_animation(ob: bpy.types.Object) -> tuple[object, ...]:
    """Return the settings of all constraints and chains, the pose, and the keys."""
    data = ob.animation_data
    curves = [*rigs.curves_of(ob), *(data.drivers if data else ())]
    chains = [
        {name: getattr(chain, name) for name in (*SETTINGS, "pole_angle", "solver", "stored_pose")}
        for chain in ob.chain_ik.chains
    ]
    constraints = [settings_of(item) for item in ik_constraints(ob)]
    paths = [(curve.data_path, [tuple(k.co) for k in curve.keyframe_points]) for curve in curves]
    return constraints, chains, rigs.rotations(ob), paths


def roll_across(limb: Limb, z_of: Callable[[bpy.types.EditBone, Vector], Vector]) -> None:
    """Roll both bones to the Z axes that a function returns for bone and normal of the bend."""
    with rigs.editing(limb.ob) as edited:
        bones = [edited[name] for name in limb.bones]
        across = bones[0].vector.cross(bones[1].vector)
        for bone in bones:
            bone.align_roll(z_of(bone, across))
    rigs.updated()


def planar(seed: int = 3, **settings: object) -> Limb:
    """Return a limb that bends about the Z axes of its bones, as users build limbs."""
    limb = Limb(seed, **settings)
    roll_across(limb, lambda _bone, across: across)
    return limb


def played(limb: Limb, frames: Sequence[float] = FRAMES) -> list[np.ndarray]:
    return [limb.joints(rigs.go_to(frame)) for frame in frames]


def assert_played(limb: Limb, expected: list[np.ndarray], frames: Sequence[float] = FRAMES) -> None:
    for frame, joints, expected_joints in zip(frames, played(limb, frames), expected, strict=True):
        gap = np.linalg.norm(joints - expected_joints, axis=1).max() / limb.length
        assert gap <= CLOSE, f"joints {gap:.3g} of the length apart at frame {frame}"
