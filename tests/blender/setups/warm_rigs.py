"""Two rigs that have followed their targets for a while, and what they show without any memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np
from mathutils import Vector

from blender_ik_addon.rig.live import live
from tests.blender.setups import rigs

Limb = tuple[str, str, str]
"""Names of an armature object, of a tip bone, and of the target that its tail follows."""
Shown = dict[str, np.ndarray]
"""By armature object: pose matrices and rotation channels of every bone, one row each."""

RIG: Limb = ("Rig", "Bone.2", "Rig Target")
OTHER: Limb = ("Other", "Bone.2", "Other Target")
TARGETS = ("Other Target", "Rig Target")
JOINTS = ((0.0, 0.0, 0.0), (0.3, -0.1, 0.6), (0.2, 0.2, 1.2), (0.0, 0.0, 1.8))
SHIFT = Vector((-0.35, 0.2, -0.15))
NOISE = 5e-6


def named(name: str) -> bpy.types.Object:
    """Return an object: undo and load replace all of them, so nobody keeps one."""
    return bpy.data.objects[name]


def chain(rig: str = "Rig", index: int = 0) -> bpy.types.PropertyGroup:
    return named(rig).chain_ik.chains[index]


def pose_bone(name: str, rig: str = "Rig") -> bpy.types.PoseBone:
    return named(rig).pose.bones[name]


def make_limb(name: str, location: Sequence[float] = (0, 0, 0), seed: int = 1) -> None:
    """Add a posed rig: a bone apart, one above a chain of three, one below it; and a target.

    The bones of ``Other`` are connected: what is their location channel counts for nothing.
    """
    ob = rigs.make_armature(name)
    rigs.add_bones(ob, ((-2, 0, 0), (-2, 0, 1)), prefix="Early")
    rigs.add_bones(ob, ((0, 0, -0.5), (0, 0, 0)), prefix="Above")
    modes = ("QUATERNION", "ZXY", "QUATERNION")
    rigs.add_bones(
        ob, JOINTS, prefix="Bone", parent="Above.0", is_connected=name == "Other", modes=modes
    )
    rigs.add_bones(ob, ((0, 0, 1.8), (0.1, 0, 2.1)), prefix="Leaf", parent="Bone.2")
    ob.location = location
    rigs.turn_bones(ob, seed=seed, angle=0.2)
    rigs.make_empty(f"{name} Target", np.add((0.6, 0.5, 0.9), location))


def follow(limb: Limb, **settings: object) -> bpy.types.PropertyGroup:
    """Add a chain of three bones for a limb."""
    rig, bone, target = limb
    return rigs.add_chain(named(rig), bone, named(target), **{"chain_count": 3, **settings})


def make_pair(**settings: object) -> dict[str, tuple[float, ...]]:
    """Make ``Rig`` and ``Other`` with live chains and warm plans; settings are those of ``Rig``.

    Returns the rotation channels of the bones of ``Rig`` before its chain first wrote.
    """
    make_limb("Other", (0.8, 0.3, 0.0), seed=2)
    make_limb("Rig")
    free = rigs.rotations(named("Rig"))
    follow(OTHER)
    follow(RIG, **settings)
    warm_up()
    return free


def edit_bones(edit: Callable[[bpy.types.bpy_prop_collection], None], rig: str = "Rig") -> None:
    """Change a rig's bones in edit mode and leave it."""
    with rigs.editing(named(rig)) as bones:
        edit(bones)


def warm_up() -> None:
    """Move both targets about, so that everything that can be remembered is."""
    for shift in (0.1, -0.05, -0.05):
        for name in TARGETS:
            named(name).location.x += shift
            bpy.context.view_layer.update()


@contextmanager
def told(what: object) -> Iterator[None]:
    """Say in which of many steps something does not hold."""
    try:
        yield
    except AssertionError as error:
        error.add_note(f"after {getattr(what, '__name__', what)}")
        raise


def armatures() -> list[bpy.types.Object]:
    return [ob for ob in bpy.context.scene.objects if ob.type == "ARMATURE"]


def forget() -> None:
    """Make the next update one of a session that remembers nothing."""
    live.memory.clear()
    for ob in armatures():
        ob.update_tag()


def shown(depsgraph: bpy.types.Depsgraph | None = None) -> Shown:
    """Return what all rigs show after one update, or in the given graph."""
    depsgraph = depsgraph or rigs.updated()
    found = {}
    for ob in armatures():
        channels = [(*values, 0.0)[:4] for values in rigs.rotations(ob).values()]
        matrices = rigs.pose(ob, depsgraph).reshape(len(channels), 16)
        found[ob.name] = np.hstack((matrices, channels))
    return found


def assert_shown(found: Shown, expected: Shown, step: object = "") -> None:
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        np.testing.assert_allclose(found[name], rows, atol=NOISE, err_msg=f"{name} {step}")


def assert_right(limbs: Sequence[Limb] = (RIG, OTHER), movers: Sequence[str] = TARGETS) -> None:
    """Check that the next updates show what a session without memory would show.

    That is the first one as things stand, then those of a walk in which one mover after the other
    is moved away, and the last in which all are back. In each of them the limbs have to reach.
    """
    found = _walked(limbs, movers, forgets=False)
    expected = _walked(limbs, movers, forgets=True)
    for step, (warm, fresh) in enumerate(zip(found, expected, strict=True)):
        assert_shown(warm, fresh, f"at step {step}")


def assert_followed(limbs: Sequence[Limb] = (RIG, OTHER), movers: Sequence[str] = TARGETS) -> None:
    """Check the same in a third of the time: only what is shown in the end is compared."""
    found = _walked(limbs, movers, forgets=False)[-1]
    assert_shown(_look(limbs, forgets=True), found)


def _walked(limbs: Sequence[Limb], movers: Sequence[str], *, forgets: bool) -> list[Shown]:
    homes = {name: named(name).location.copy() for name in movers}
    seen = [_look(limbs, forgets=forgets)]
    for name, home in homes.items():
        named(name).location = home + SHIFT
        seen.append(_look(limbs, forgets=forgets))
    for name, home in homes.items():
        named(name).location = home
    return [*seen, _look(limbs, forgets=forgets)]


def _look(limbs: Sequence[Limb], *, forgets: bool) -> Shown:
    if forgets:
        forget()
    return _reached(limbs, rigs.updated())


def _reached(limbs: Sequence[Limb], depsgraph: bpy.types.Depsgraph) -> Shown:
    for rig, bone, target in limbs:
        rigs.assert_reaches(named(rig), bone, named(target), depsgraph)
    return shown(depsgraph)


def assert_right_at(*frames: int, limbs: Sequence[Limb] = (RIG, OTHER)) -> None:
    """Check frames as they come against a session that remembers nothing of the others."""
    for frame in frames:
        found = _reached(limbs, rigs.go_to(frame))
        forget()
        assert_shown(shown(rigs.go_to(frame)), found, f"at frame {frame}")


def assert_let_go(free: dict[str, tuple[float, ...]], *bones: str, rig: str = "Rig") -> None:
    """Check that bones hold again what they held before their chain first wrote."""
    held = rigs.rotations(named(rig))
    for bone in bones or free:
        np.testing.assert_allclose(held[bone], free[bone], atol=1e-6, err_msg=bone)
