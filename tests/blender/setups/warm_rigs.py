"""Two rigs that have solved before, and checks against poses solved without any memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np
from mathutils import Vector

from blender_ik_addon.rig.live import live
from tests.blender.setups import rigs

Names = tuple[str, str, str]
"""Names of an armature object, of a tip bone, and of the target that its tail follows."""
Shown = dict[str, np.ndarray]
"""Pose matrices and rotation channels by armature object, one row for each bone."""

RIG: Names = ("Rig", "Bone.2", "Rig Target")
OTHER: Names = ("Other", "Bone.2", "Other Target")
TARGETS = ("Other Target", "Rig Target")
JOINTS = ((0.0, 0.0, 0.0), (0.3, -0.1, 0.6), (0.2, 0.2, 1.2), (0.0, 0.0, 1.8))
SHIFT = Vector((-0.35, 0.2, -0.15))
NOISE = 5e-6


def named(name: str) -> bpy.types.Object:
    """Return an object by name: undo and load replace all objects, so no reference is kept."""
    return bpy.data.objects[name]


def chain(rig: str = "Rig", index: int = 0) -> bpy.types.PropertyGroup:
    return named(rig).chain_ik.chains[index]


def pose_bone(name: str, rig: str = "Rig") -> bpy.types.PoseBone:
    return named(rig).pose.bones[name]


def make_limb(name: str, location: Sequence[float] = (0, 0, 0), seed: int = 1) -> None:
    """Add a posed rig and a target: a separate bone, one above a chain of three, and one below it.

    The bones of ``Other`` are connected, so their location channels have no effect.
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


def follow(limb: Names, **settings: object) -> bpy.types.PropertyGroup:
    """Add a chain of three bones for a limb."""
    rig, bone, target = limb
    return rigs.add_chain(named(rig), bone, named(target), **{"chain_count": 3, **settings})


def make_pair(**settings: object) -> dict[str, tuple[float, ...]]:
    """Make ``Rig`` and ``Other`` with live chains that have solved; settings are for ``Rig``.

    Return the rotation channels of the bones of ``Rig`` before its chain first wrote.
    """
    make_limb("Other", (0.8, 0.3, 0.0), seed=2)
    make_limb("Rig")
    free = rigs.rotations(named("Rig"))
    follow(OTHER)
    follow(RIG, **settings)
    warm_up()
    return free


def edit_bones(edit: Callable[[bpy.types.bpy_prop_collection], None], rig: str = "Rig") -> None:
    with rigs.editing(named(rig)) as bones:
        edit(bones)


def warm_up() -> None:
    """Move both targets, so that chains remember all that they can."""
    for shift in (0.1, -0.05, -0.05):
        for name in TARGETS:
            rigs.shift(named(name), x=shift)


@contextmanager
def report_step(step: object) -> Iterator[None]:
    """Add the step to the message of a failed assertion in the block."""
    try:
        yield
    except AssertionError as error:
        error.add_note(f"after {getattr(step, '__name__', step)}")
        raise


def armatures() -> list[bpy.types.Object]:
    return [ob for ob in bpy.context.scene.objects if ob.type == "ARMATURE"]


def forget() -> None:
    """Clear the memory, so that the next update starts like a new session."""
    live.memory.clear()
    for ob in armatures():
        ob.update_tag()


def shown(depsgraph: bpy.types.Depsgraph | None = None) -> Shown:
    """Return the state of all rigs after one update, or in the given graph."""
    depsgraph = depsgraph or rigs.updated()
    state = {}
    for ob in armatures():
        channels = [(*values, 0.0)[:4] for values in rigs.rotations(ob).values()]
        matrices = rigs.pose(ob, depsgraph).reshape(len(channels), 16)
        state[ob.name] = np.hstack((matrices, channels))
    return state


def assert_shown(actual: Shown, expected: Shown, step: object = "") -> None:
    assert actual.keys() == expected.keys()
    for name, rows in expected.items():
        np.testing.assert_allclose(actual[name], rows, atol=NOISE, err_msg=f"{name} {step}")


def assert_fresh(limbs: Sequence[Names] = (RIG, OTHER), movers: Sequence[str] = TARGETS) -> None:
    """Check that the next updates give the same poses as updates without memory.

    The first update is of the present state. Then one mover after the other is moved away, and at
    last all are moved back. The limbs must reach in every update.
    """
    actual = _walk(limbs, movers, forgets=False)
    expected = _walk(limbs, movers, forgets=True)
    for step, (warm, fresh) in enumerate(zip(actual, expected, strict=True)):
        assert_shown(warm, fresh, f"at step {step}")


def assert_followed(limbs: Sequence[Names] = (RIG, OTHER), movers: Sequence[str] = TARGETS) -> None:
    """Check the same in a third of the time: compare only the final poses."""
    actual = _walk(limbs, movers, forgets=False)[-1]
    assert_shown(_updated_state(limbs, forgets=True), actual)


def _walk(limbs: Sequence[Names], movers: Sequence[str], *, forgets: bool) -> list[Shown]:
    homes = {name: named(name).location.copy() for name in movers}
    states = [_updated_state(limbs, forgets=forgets)]
    for name, home in homes.items():
        named(name).location = home + SHIFT
        states.append(_updated_state(limbs, forgets=forgets))
    for name, home in homes.items():
        named(name).location = home
    return [*states, _updated_state(limbs, forgets=forgets)]


def _updated_state(limbs: Sequence[Names], *, forgets: bool) -> Shown:
    if forgets:
        forget()
    return _reached_state(limbs, rigs.updated())


def _reached_state(limbs: Sequence[Names], depsgraph: bpy.types.Depsgraph) -> Shown:
    for rig, bone, target in limbs:
        rigs.assert_reaches(named(rig), bone, named(target), depsgraph)
    return shown(depsgraph)


def assert_fresh_at(*frames: int, limbs: Sequence[Names] = (RIG, OTHER)) -> None:
    """Check that frames, played in this order, give the same poses as frames without memory."""
    for frame in frames:
        actual = _reached_state(limbs, rigs.go_to(frame))
        forget()
        assert_shown(shown(rigs.go_to(frame)), actual, f"at frame {frame}")


def assert_restored(free: dict[str, tuple[float, ...]], *bones: str, rig: str = "Rig") -> None:
    """Check that bones have the rotation channels from before their chain first wrote them."""
    channels = rigs.rotations(named(rig))
    for bone in bones or free:
        np.testing.assert_allclose(channels[bone], free[bone], atol=1e-6, err_msg=bone)
