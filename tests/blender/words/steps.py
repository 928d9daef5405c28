"""Steps that cause a sentence: changes of a rig, each undone at the end of its block."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

import bpy

from blender_ik_addon.rig.controls.control_spaces import add_space
from blender_ik_addon.rig.reading.spec import Anchor
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.jointed_rigs import add_joint

LIMB = ("Limb.0", "Limb.1", "Limb.2")
PLACE = (0.8, 0.3, 1.6)
"""A place of the target that the limb reaches."""
Step = Callable[[bpy.types.Object], AbstractContextManager[object]]


def make_limbs(parent: str = "") -> bpy.types.Object:
    """Return a rig with a limb of three bones, and one of two, beside it or on a parent bone."""
    ob = rigs.make_armature()
    rigs.add_bones(ob, [(0, 0, 0), (0, -0.1, 1), (0, 0, 2), (0, 0.2, 2.6)], prefix="Limb")
    rigs.add_bones(ob, [(2, 0, 0), (2, -0.1, 1), (2, 0, 2)], prefix="Other", parent=parent)
    rigs.add_chain(ob, "Limb.2", rigs.make_empty("Target", PLACE), name="Limb")
    rigs.add_chain(ob, "Other.1", rigs.make_empty("Second", (2.6, 0.5, 1.2)), name="Other")
    return ob


def make_hooked() -> bpy.types.Object:
    """Return a limb whose first bone is longer than the other."""
    return make_two(((0, 0, 0), (0, 0, 1.5), (0.1, 0, 2.0)), (0.4, 0.0, 1.6))


def make_leg() -> bpy.types.Object:
    """Return a limb whose bones lie along no axis: scaled flat, rounding leaves them a length."""
    return make_two(((0.1, 0, 1), (0.1, -0.02, 0.5), (0.1, 0.02, 0.08)), (0.1, -0.08, 0.18))


def make_two(
    points: Sequence[Sequence[float]], place: tuple[float, float, float]
) -> bpy.types.Object:
    ob = rigs.make_rig(points, prefix="Limb")
    rigs.add_chain(ob, "Limb.1", rigs.make_empty("Target", place), name="Limb")
    return ob


def make_tree() -> bpy.types.Object:
    rig = tree_rigs.make_y("Rig").follow()
    rig.place(1)
    return rig.ob


def make_arms() -> bpy.types.Object:
    ob = rigs.make_armature()
    rigs.add_bones(ob, tree_rigs.LEFT, prefix="Left")
    rigs.add_bones(ob, tree_rigs.RIGHT, prefix="Right")
    return tree_rigs.Rig(ob, {"Left": "Left.1", "Right": "Right.1"}, 0.9).follow().ob


def nothing(_ob: bpy.types.Object) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True)
class Case:
    """A status, and the steps that cause it.

    Attributes:
        status: Its first words, "..." for parts that vary; the docs have the rest.
        cause: The step that causes the status.
        setup: The step that comes first, and is undone last.
        make_rig: Function that returns the rig.
        chain: Name of the chain that has the status.
    """

    status: str
    cause: Step
    setup: Step = nothing
    make_rig: Callable[[], bpy.types.Object] = make_limbs
    chain: str = "Limb"


def part_of(ob: bpy.types.Object, name: str) -> bpy.types.bpy_struct:
    """Return a bone, chain, object, newest joint or group of settings by its name."""
    settings = ob.chain_ik
    if name in ob.pose.bones:
        return ob.pose.bones[name]
    if name in settings.chains:
        return settings.chains[name]
    if name in bpy.data.objects:
        return bpy.data.objects[name]
    if name == "joint":
        return settings.chains[0].joints[-1]
    others = {"body": settings.body, "force": settings.chains[0].force, "data": ob.data}
    return {**others, "scene": bpy.context.scene.chain_ik}[name]


def as_step(step: Callable[..., Iterator[None]]) -> Callable[..., Step]:
    """Return a function from arguments to the step that has them."""
    return lambda *args, **settings: lambda ob: contextmanager(step)(ob, *args, **settings)


@as_step
def on(ob: bpy.types.Object, names: str | tuple[str, ...], **values: object) -> Iterator[None]:
    def get_value(owner: bpy.types.bpy_struct, key: str) -> object:
        value = getattr(owner, key)
        is_list = hasattr(value, "__len__") and not isinstance(value, str)
        return tuple(value) if is_list else value

    parts = (names,) if isinstance(names, str) else names
    before = [(part, key, get_value(part_of(ob, part), key)) for part in parts for key in values]
    for part, key, _ in before:
        setattr(part_of(ob, part), key, values[key])
    yield
    for part, key, value in before:
        setattr(part_of(ob, part), key, value)


def chain(**values: object) -> Step:
    return on("Limb", **values)


def target(*place: float, turned: tuple[float, ...] = (0.0, 0.0, 0.0)) -> Step:
    return on("Target", location=place, rotation_euler=turned)


@as_step
def both(ob: bpy.types.Object, *steps: Step) -> Iterator[None]:
    with ExitStack() as stack:
        for step in steps:
            stack.enter_context(step(ob))
        yield


def limits(size: float) -> Step:
    values = {f"use_ik_limit_{axis}": True for axis in "xyz"}
    values |= {f"ik_min_{axis}": -size for axis in "xyz"}
    return on(LIMB, **values, **{f"ik_max_{axis}": size for axis in "xyz"})


def locks(axes: str, bones: tuple[str, ...] = LIMB) -> Step:
    return on(bones, **{f"lock_ik_{axis}": True for axis in axes})


@as_step
def joint(
    ob: bpy.types.Object, bone: str, kind: str = "BALL", *, of: str = "Limb", **settings: object
) -> Iterator[None]:
    add_joint(part_of(ob, of), bone, kind, **settings)
    ob.update_tag()
    yield
    joints = part_of(ob, of).joints
    joints.remove(len(joints) - 1)
    ob.update_tag()


@as_step
def edit(ob: bpy.types.Object, bone: str, **values: object) -> Iterator[None]:
    """Set boolean properties of an edit bone; the end of the step inverts them."""
    rigs.enter(ob, "EDIT")
    for key, value in values.items():
        setattr(ob.data.edit_bones[bone], key, value)
    rigs.enter(ob, "OBJECT")
    yield
    rigs.enter(ob, "EDIT")
    for key, value in values.items():
        setattr(ob.data.edit_bones[bone], key, not value)
    rigs.enter(ob, "OBJECT")


@as_step
def driver(ob: bpy.types.Object, bone: str, prop: str, index: int = 0) -> Iterator[None]:
    ob.pose.bones[bone].rotation_mode = "XYZ"
    ob.pose.bones[bone].driver_add(prop, index).driver.expression = "0.1"
    yield
    ob.pose.bones[bone].driver_remove(prop, index)


@as_step
def constraint(ob: bpy.types.Object, bone: str, kind: str) -> Iterator[None]:
    constraints = ob.pose.bones[bone].constraints
    constraints.new(kind).name = kind
    if kind in ("IK", "COPY_ROTATION", "COPY_LOCATION"):
        constraints[kind].target = bpy.data.objects["Second"]
    yield
    constraints = ob.pose.bones[bone].constraints
    constraints.remove(constraints[kind])


@as_step
def mode(ob: bpy.types.Object, name: str) -> Iterator[None]:
    rigs.enter(ob, name)
    yield
    rigs.enter(ob, "POSE")


@as_step
def unlink(_ob: bpy.types.Object, name: str) -> Iterator[None]:
    bpy.context.scene.collection.objects.unlink(bpy.data.objects[name])
    yield
    rigs.link(bpy.data.objects[name])


@as_step
def excluded(ob: bpy.types.Object) -> Iterator[None]:
    collection = rigs.make_collection("Own")
    bpy.context.scene.collection.objects.unlink(ob)
    collection.objects.link(ob)
    layer = bpy.context.view_layer.layer_collection.children["Own"]
    layer.exclude = True
    yield
    layer.exclude = False


@as_step
def instanced(ob: bpy.types.Object) -> Iterator[None]:
    """Show the limb only as a collection instance of an empty."""
    empty = rigs.make_empty("Instance")
    empty.instance_type, empty.instance_collection = "COLLECTION", bpy.data.collections.new("Own")
    bpy.context.scene.collection.objects.unlink(ob)
    empty.instance_collection.objects.link(ob)
    yield
    rigs.link(ob)
    bpy.data.objects.remove(empty)


@as_step
def hangs_below(ob: bpy.types.Object, role: str = "target", bone: str = "") -> Iterator[None]:
    """Give the limb a target or pole far below one of its bones: an object, or a bone of it."""
    child = rigs.make_empty("Child", (0, 0.1, 0), parent=ob, parent_bone="Limb.1")
    below = rigs.make_rig(name="Below") if bone else rigs.make_empty("Below")
    below.parent = child
    with chain(**{role: below, "subtarget": bone})(ob):
        yield


@as_step
def goes_along(ob: bpy.types.Object, role: str, influence: float) -> Iterator[None]:
    """Give the limb a target or pole with one of its bones as a space, which is on or off."""
    free = rigs.make_empty("Free", (0.5, -1.0, 1.0))
    add_space(Anchor(free), Anchor(ob, "Limb.1")).influence = influence
    with chain(**{role: free})(ob):
        yield


@as_step
def follows(
    ob: bpy.types.Object, bone: str, chain_name: str = "Limb", role: str = "target"
) -> Iterator[None]:
    with on(chain_name, **{role: ob, "subtarget": bone})(ob):
        yield


@as_step
def turned_by_hand(ob: bpy.types.Object) -> Iterator[None]:
    """Turn a bone of the limb; at the end move the target."""
    ob.pose.bones["Limb.1"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    yield
    bpy.data.objects["Target"].location = (0.5, 0.5, 1.1)
