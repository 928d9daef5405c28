"""All properties of a rig that can hold a bad value, from Blender's lists of properties."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import bpy
import numpy as np

from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint

NAN = math.nan
BAD_FLOATS = (NAN, math.inf, 0.0)
BAD_INTS = (2**31 - 1, -(2**31))
BAD_TEXTS = ("", "{", "[]", "[[]]", "null", "[" * 20_000, "9" * 5_000, "\x07", "Gone")
CHANNELS = (
    "location",
    "rotation_quaternion",
    "rotation_euler",
    "rotation_axis_angle",
    "scale",
    "delta_location",
    "delta_rotation_euler",
    "delta_scale",
)
"""Transform channels of objects; pose bones have the first five."""


@dataclass(frozen=True)
class Place:
    """A property and its owner, stored as names: references do not outlive an update.

    Attributes:
        owner: Name of the object.
        path: Path from the object to the property's owner, empty for the object itself.
        name: Name of the property.
        index: Index of the number in an array property; -1 for a single value.
    """

    owner: str
    path: str
    name: str
    index: int = -1

    @property
    def holder(self) -> bpy.types.bpy_struct:
        ob = bpy.data.objects[self.owner]
        return ob.path_resolve(self.path) if self.path else ob

    @property
    def label(self) -> str:
        return self.holder.bl_rna.properties[self.name].name

    def get(self) -> object:
        value = getattr(self.holder, self.name)
        return value if self.index < 0 else value[self.index]

    def set(self, value: object) -> None:
        if self.index < 0:
            setattr(self.holder, self.name, value)
        else:
            getattr(self.holder, self.name)[self.index] = value


def settings_of(owner: str, path: str) -> Iterator[Place]:
    """Yield all writable properties of a group of settings, including nested ones."""
    holder = bpy.data.objects[owner].path_resolve(path)
    for prop in holder.bl_rna.properties:
        name = prop.identifier
        if name == "rna_type":
            continue
        if prop.type == "COLLECTION":
            for i in range(len(getattr(holder, name))):
                yield from settings_of(owner, f"{path}.{name}[{i}]")
        elif prop.type == "POINTER" and isinstance(getattr(holder, name), bpy.types.PropertyGroup):
            yield from settings_of(owner, f"{path}.{name}")
        elif not prop.is_readonly:
            yield Place(owner, path, name)


def channels_of(owner: str, path: str = "") -> Iterator[Place]:
    """Yield one component of each transform channel of an object or a pose bone."""
    holder = Place(owner, path, "").holder
    for turn, name in enumerate(CHANNELS, start=len(path)):
        size = len(getattr(holder, name, ()))
        if size:
            yield Place(owner, path, name, turn % size)


def bad_values(place: Place) -> tuple[object, ...]:
    """Return nonsense values for a property; for enums and booleans return all values."""
    prop = place.holder.bl_rna.properties[place.name]
    by_type = {
        "FLOAT": BAD_FLOATS,
        "INT": BAD_INTS,
        "STRING": BAD_TEXTS,
        "BOOLEAN": (True, False),
        "POINTER": (None,),
    }
    if prop.type == "ENUM":
        return tuple(prop.enum_items.keys())
    return by_type[prop.type]


def numbers(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return the transform channels of an object and of all its bones, by name."""
    holders = {"": ob, **{bone.name: bone for bone in (ob.pose.bones if ob.pose else ())}}
    return {
        f"{holder}.{name}": np.array(getattr(holders[holder], name))
        for holder in holders
        for name in CHANNELS[:5]
    }


def not_finite() -> set[str]:
    return {
        f"{ob.name}.{name}"
        for ob in bpy.data.objects
        for name, values in numbers(ob).items()
        if not np.isfinite(values).all()
    }


def assert_is_advice(sentence: str, names: str = "") -> None:
    """Check that a text is one sentence, problem, colon, advice, and contains the given names."""
    assert names in sentence, sentence
    # Names and quoted values may contain full stops and colons.
    plain = re.sub(r"'[^']*'|\{.*\}", "it", sentence)
    assert re.fullmatch(r"[A-Z][^:]+: [a-z][^:]+\.", plain), sentence
    assert len(sentence) < 200


JOINT = {"kind": "ELBOW_X", "use_limit_x": True, "min_x": -2.0, "max_x": 2.0}
SLIDE = {"use_slide": True, "slide_min": -0.1, "slide_max": 0.2}
KINDS: dict[str, dict[str, object]] = {
    "Newton": {"solver": "NEWTON"},
    "joints": {"solver": "NEWTON"},
    "gradual": {"solver": "FORCE"},
    "Follow": {"solver": "FOLLOW", "max_bend": 1.0},
    "stretch": {"solver": "NEWTON", "use_stretch": True, "use_keep_volume": True},
    "current": {"solver": "NEWTON", "start_from": "CURRENT"},
    "tree": {"solver": "FABRIK", "use_rotation": True, "orient_weight": 0.5},
}
"""Settings of chains of every kind: other code reads the settings of each kind."""


def make_scene(kind: str) -> None:
    """Make rig "Bad" with a chain of the kind and another one, and rig "Good" with one chain."""
    good = rigs.make_rig(name="Good")
    rigs.add_chain(good, "Bone.1", rigs.make_empty("Good Target"))
    bad = rigs.make_armature("Bad")
    bad.parent = rigs.make_empty("Above", (0.0, 2.0, 0.0))
    rigs.add_bones(bad, [(0, 0, -0.5), (0, 0, 0)], prefix="Above")
    is_connected = kind not in ("joints", "Follow")
    joints = [(0, 0, 0.5 * i) for i in range(5)]
    joints[2] = (0, -0.1, 1.0)
    rigs.add_bones(bad, joints, prefix="Bone", parent="Above.0", is_connected=is_connected)
    rigs.add_bones(bad, [(2, 0, 0), (2, -0.1, 1), (2, 0, 2)], prefix="Other")
    rigs.set_each(bad.pose.bones, ik_stretch=0.1)
    target, pole = rigs.make_empty("Bad Target", (0.6, 2.5, 1.0)), rigs.make_empty("Bad Pole")
    other = rigs.make_empty("Other Target", (2.5, 2.5, 1.2))
    settings = {"chain_count": 4, **KINDS[kind]}
    chain = rigs.add_chain(bad, "Bone.3", target, name="Bad", pole_target=pole, **settings)
    if kind == "joints":
        add_joint(chain, "Bone.1", **JOINT)
        add_joint(chain, "Bone.2", "BALL", **SLIDE)
    if kind == "gradual":
        chain.force.gravity = 1.0
        chain.force.use_gradual = True
    is_tree = kind == "tree"
    rigs.add_chain(bad, "Bone.1" if is_tree else "Other.1", other, name="Other")
    bpy.context.view_layer.update()
