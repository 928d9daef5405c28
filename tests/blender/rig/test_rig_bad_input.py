"""Promise 6: bad input gives one sentence on that chain, the others go on, nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, scaled_rigs

LIMB = ["Limb.0", "Limb.1", "Limb.2"]
OTHER = ["Other.0", "Other.1"]
GOALS = (np.array([0.8, 0.3, 1.6]), np.array([0.9, -0.5, 1.0]))


@dataclass
class Scene:
    """A rig with a limb of three bones to break, and a limb of two that must go on.

    Attributes:
        ob: The armature object.
        target: Of the limb that is broken.
        other_target: Of the other limb.
    """

    ob: bpy.types.Object
    target: bpy.types.Object
    other_target: bpy.types.Object

    @property
    def chain(self) -> bpy.types.PropertyGroup:
        return self.ob.chain_ik.chains[0]

    @property
    def other(self) -> bpy.types.PropertyGroup:
        return self.ob.chain_ik.chains[1]

    def bone(self, index: int) -> bpy.types.PoseBone:
        return self.ob.pose.bones[LIMB[index]]


def make_scene() -> Scene:
    ob = rigs.make_armature()
    rigs.add_bones(ob, [(0, 0, 0), (0, -0.1, 1), (0, 0, 2), (0, 0.2, 2.6)], prefix="Limb")
    rigs.add_bones(ob, [(2, 0, 0), (2, -0.1, 1), (2, 0, 2)], prefix="Other")
    target = rigs.make_empty("Target", GOALS[0])
    other_target = rigs.make_empty("Other Target", (2.6, 0.5, 1.2))
    rigs.add_chain(ob, LIMB[-1], target, name="Limb")
    rigs.add_chain(ob, OTHER[-1], other_target, name="Other")
    scaled_rigs.update()
    return Scene(ob, target, other_target)


@pytest.fixture
def scene() -> Scene:
    return make_scene()


@dataclass(frozen=True)
class Case:
    """One way to break a chain.

    Attributes:
        breaks: Does it.
        mends: Undoes it.
        names: What the sentence names.
    """

    breaks: Callable[[Scene], object]
    mends: Callable[[Scene], object]
    names: str


def set_chain(**values: object) -> Callable[[Scene], None]:
    def apply(scene: Scene) -> None:
        for name, value in values.items():
            setattr(scene.chain, name, value)

    return apply


def follow_target(scene: Scene) -> None:
    scene.chain.subtarget = ""
    scene.chain.target = scene.target


def delete_target(scene: Scene) -> None:
    bpy.data.objects.remove(scene.target)


def new_target(scene: Scene) -> None:
    scene.target = rigs.make_empty("New Target", GOALS[0])
    scene.chain.target = scene.target


def unlink_target(scene: Scene) -> None:
    bpy.context.scene.collection.objects.unlink(scene.target)


def link_target(scene: Scene) -> None:
    rigs.link(scene.target)


def follow_bone_of_other_rig(bone: str) -> Callable[[Scene], None]:
    def apply(scene: Scene) -> None:
        scene.chain.target = rigs.make_rig(name="Leader")
        scene.chain.subtarget = bone

    return apply


def follow_child_of_bone(scene: Scene) -> None:
    scene.chain.target = rigs.make_empty("Child", (0, 0.1, 0), parent=scene.ob, parent_bone=LIMB[1])


def follow_child_deep_below(scene: Scene) -> None:
    above = rigs.make_empty("Child", (0, 0.1, 0), parent=scene.ob, parent_bone=LIMB[2])
    for name in ("Grandchild", "Deep"):
        above = rigs.make_empty(name, (0, 0.1, 0), parent=above)
    scene.chain.target = above


def follow_rig_below(scene: Scene) -> None:
    scene.chain.target = rigs.make_rig(name="Hand Rig")
    scene.chain.target.parent = scene.ob
    scene.chain.target.parent_type, scene.chain.target.parent_bone = "BONE", LIMB[2]
    scene.chain.subtarget = "Bone.1"


def follow_own_bone(bone: str) -> Callable[[Scene], None]:
    def apply(scene: Scene) -> None:
        scene.chain.target = scene.ob
        scene.chain.subtarget = bone

    return apply


def set_on(part: str, name: str, value: object) -> Callable[[Scene], None]:
    """Return what sets a property of "target", "ob" or of one of the limb's bones "0", "1", "2"."""

    def apply(scene: Scene) -> None:
        owner = scene.bone(int(part)) if part.isdigit() else getattr(scene, part)
        setattr(owner, name, value)

    return apply


def pole_is(make: Callable[[Scene], bpy.types.Object]) -> Callable[[Scene], None]:
    def apply(scene: Scene) -> None:
        scene.chain.pole_target = make(scene)

    return apply


NAN = float("nan")
NO_POLE = set_chain(pole_target=None)
# More sentences, said and not said: tests/blender/words/said_of_input.py.
CASES = {
    "deleted target": Case(delete_target, new_target, "target"),
    "target bone missing": Case(follow_bone_of_other_rig("Gone"), follow_target, "'Gone'"),
    "target is the armature": Case(follow_own_bone(""), follow_target, "armature itself"),
    "target is deep below the chain": Case(follow_child_deep_below, follow_target, "'Deep'"),
    "target is on a rig below the chain": Case(follow_rig_below, follow_target, "'Hand Rig'"),
    "pole is below the chain": Case(
        pole_is(lambda s: rigs.make_empty("Knee", parent=s.ob, parent_bone=LIMB[0])),
        NO_POLE,
        "'Knee'",
    ),
    "bone scaled flat along itself": Case(
        set_on("2", "scale", (1.0, 0.0, 1.0)), set_on("2", "scale", (1.0, 1.0, 1.0)), LIMB[2]
    ),
    "NaN in the target": Case(
        set_on("target", "location", (NAN, 0.0, 0.0)),
        set_on("target", "location", GOALS[0]),
        "'Target'",
    ),
}


def assert_other_goes_on(scene: Scene) -> None:
    for place in ((2.7, 0.4, 1.1), (2.2, -0.9, 0.9)):
        scene.other_target.location = place
        scaled_rigs.update()
        assert scaled_rigs.miss(scene.ob, OTHER, scene.other_target) <= 1e-5, scene.other.status
        assert scene.other.status.startswith("Reached"), scene.other.status


def assert_is_advice(sentence: str, names: str) -> None:
    """Check for one sentence: what is wrong, a colon, what to do."""
    assert names in sentence, sentence
    # What it names may hold full stops and colons.
    plain = re.sub(r"'[^']*'", "it", sentence)
    assert re.fullmatch(r"[A-Z][^:]+: [a-z][^:]+\.", plain), sentence
    assert len(sentence) < 200


@pytest.mark.every_case
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_bad_input_gives_its_sentence_the_other_chain_goes_on_and_nothing_is_lost(scene, case):
    before = scene_inventory(scene)
    case.breaks(scene)
    scaled_rigs.update()
    assert_is_advice(scene.chain.status, case.names)
    assert_other_goes_on(scene)
    assert_is_advice(scene.chain.status, case.names)
    bpy.context.scene.frame_set(7)
    case.mends(scene)
    for place in GOALS:
        scene.target.location = place
        scaled_rigs.update()
        assert scaled_rigs.miss(scene.ob, LIMB, scene.target) <= 1e-5, scene.chain.status
    assert scene.chain.status.startswith("Reached"), scene.chain.status
    assert scene_inventory(scene) == before
    assert np.isfinite(np.concatenate(list(rigs.rotations(scene.ob).values()))).all()
    assert np.isfinite(rigs.pose(scene.ob)).all()


def scene_inventory(scene: Scene) -> dict[str, object]:
    """Return bones, chains, stored poses and bone channels that no chain writes."""
    return {
        "bones": scene.ob.pose.bones.keys(),
        "chains": [
            (c.name, c.bone, c.solver, len(c.stored_pose)) for c in scene.ob.chain_ik.chains
        ],
        "channels": [(tuple(b.location), tuple(b.scale)) for b in scene.ob.pose.bones],
    }
