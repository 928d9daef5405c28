"""Edits that end in the state of their start, so the pose must be the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import bpy

import blender_ik_addon
from tests.blender.edits import random_checks as checks
from tests.blender.edits import random_scene as scene
from tests.blender.edits.kinds.random_object_edits import show
from tests.blender.edits.random_draws import edit
from tests.blender.edits.random_scene import EDITABLE_RIG, OF_RIG, enter, leave_modes, pick
from tests.blender.edits.random_values import FLAG, SEED, THING, integers, one_of, sampled
from tests.blender.setups import rigs
from tests.helpers import make_rng

FRAMES = (1.0, 2.0, 2.5, 3.0, 4.0)
TIMES = integers(1, 2)
MODES = one_of("OBJECT POSE EDIT")
MEANWHILE = sampled(("", "mute", "rest", "without target"))
OTHER_NAME = "Renamed"


def settle() -> None:
    """Show the keyed pose: any frame change discards unkeyed changes of keyed channels."""
    rigs.go_to(bpy.context.scene.frame_current_final)
    bpy.context.view_layer.update()


def play(frames: tuple[float, ...]) -> dict[float, checks.Poses]:
    """Return the poses at frames, played in their order, and return to the present frame."""
    now, poses = bpy.context.scene.frame_current_final, {}
    for frame in rigs.each_frame(frames):
        poses[frame] = checks.poses()
    rigs.go_to(now)
    bpy.context.view_layer.update()
    return poses


class Snapshot:
    """The shown and stored poses of one moment, to compare with later ones.

    Armature objects in ``exempt`` may change; those in ``approximate`` may differ by a tolerance.
    ``is_restored`` is for edits that restore stored poses: chains that are not solved keep these.
    """

    def __init__(
        self, exempt: Callable[[], set[str]] = checks.with_history, is_restored: bool = False
    ) -> None:
        self._poses, self._stored = checks.poses(), checks.stored_poses(is_solved=is_restored)
        self.exempt = exempt()
        if is_restored:
            self.exempt |= checks.with_unsolved() | checks.with_converted()
        self.approximate: set[str] = set()

    def check(self, what: str) -> None:
        approximate = self.approximate | checks.with_history()
        moved = checks.not_stable(self._poses, checks.poses(), self.exempt, approximate)
        assert not moved, f"moved by {what}: {moved}"
        lost = checks.lost_poses(self._stored, checks.stored_poses())
        assert not lost, f"stored pose lost by {what}: {lost}"


@contextmanager
def round_trip(what: str, is_restored: bool = False) -> Iterator[None]:
    """Check that a block leaves the poses and stored poses of the frame as they were."""
    settle()
    before = Snapshot(is_restored=is_restored)
    yield
    settle()
    before.check(what)


def set_and_restore(owners: list[Any], name: str, value: object, update: bool) -> None:
    former = [getattr(owner, name) for owner in owners]
    for values in ([value] * len(owners), former):
        for owner, owner_value in zip(owners, values, strict=True):
            setattr(owner, name, owner_value)
        if update:
            bpy.context.view_layer.update()


@edit(update=FLAG)
def live_off_and_on(update):
    settings = bpy.context.scene.chain_ik
    if not settings.use_live:
        return
    # Bones keep their poses while live is off, so the keyed pose is not shown again.
    before = Snapshot(checks.with_eased if update else checks.restless_rigs)
    set_and_restore([settings], "use_live", False, update)
    checks.tag_all()
    before.check("live off and on")


@edit(EDITABLE_RIG, update=FLAG)
def mute_and_unmute(ob, update):
    with round_trip("mute and unmute", is_restored=True):
        set_and_restore(list(ob.chain_ik.chains), "mute", True, update)


@edit(EDITABLE_RIG)
def mute_and_unmute_all(ob):
    set_and_restore(list(ob.chain_ik.chains), "mute", True, True)


@edit(EDITABLE_RIG, update=FLAG)
def influence_to_zero_and_back(ob, update):
    with round_trip("influence to zero and back", is_restored=True):
        set_and_restore(list(ob.chain_ik.chains), "influence", 0.0, update)


@edit(scene.EDITABLE_BONES, update=FLAG)
def rest_position_and_back(ob, update):
    if ob.data.pose_position == "POSE":
        with round_trip("rest position and back"):
            set_and_restore([ob.data], "pose_position", "REST", update)


@edit(OF_RIG, mode=one_of("POSE EDIT"))
def mode_and_back(ob, mode):
    # In edit mode chains keep their earlier state, so that mode is left first.
    leave_modes()
    with round_trip(f"mode {mode} and back"):
        if enter(ob, mode):
            bpy.context.view_layer.update()
        leave_modes()


@edit(i=THING)
def layer_and_back(i):
    former = bpy.context.view_layer.name
    with round_trip("another view layer and back"):
        show(pick(bpy.context.scene.view_layers, i).name)
        settle()
        show(former)


@edit()
def unregister_and_register():
    with round_trip("unregister and register"):
        blender_ik_addon.unregister()
        bpy.context.view_layer.update()
        blender_ik_addon.register()


def save_and_load_in(folder: str) -> None:
    path = os.path.join(folder, "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)


def with_other_modes() -> set[str]:
    """Return the armature objects that depend on overrides with other rotation modes of bones.

    When Blender loads such an override it sets the mode again, which converts the bone's rotation
    again, with a rounding error.
    """
    return checks.depending_on(_has_other_modes)


def _has_other_modes(ob: bpy.types.Object) -> bool:
    """Return whether a bone of an override has another rotation mode than in its library."""
    modes = [{b.name: b.rotation_mode for b in rig.pose.bones} for rig in _with_reference(ob)]
    return len(modes) > 1 and modes[0] != modes[1]


def with_unsaved() -> set[str]:
    """Return the armature objects that depend on data that Blender saves in part or not at all.

    It saves no object that only constraints and drivers use, and no change of linked data. Of an
    override it saves no added drivers where the library has animation, and no poses if the bones
    differ from those of the library, as with another armature.
    """
    return checks.depending_on(lambda ob: not ob.users or ob.library or _is_saved_in_part(ob))


def _is_saved_in_part(ob: bpy.types.Object) -> bool:
    if len(both := _with_reference(ob)) < 2:
        return False
    bones = [[bone.name for bone in rig.pose.bones] for rig in both]
    driven = [{(d.data_path, d.array_index) for d in checks.drivers_of(rig)} for rig in both]
    return bones[0] != bones[1] or (both[1].animation_data and driven[0] != driven[1])


def _with_reference(ob: bpy.types.Object) -> list[bpy.types.Object]:
    """Return an armature object and the one that it overrides, if both have a pose."""
    reference = ob.override_library.reference if ob.override_library else None
    return [ob, reference] if ob.pose and reference is not None and reference.pose else []


@edit(i=THING)
def save_load_and_play(machine, i):
    """Save with any view layer shown, load, and play the frames again."""
    leave_modes()
    settle()
    former = bpy.context.view_layer.name
    before, snapshot = play(FRAMES), Snapshot(is_restored=True)
    snapshot.exempt |= with_unsaved()
    snapshot.approximate = with_other_modes()
    show(pick(bpy.context.scene.view_layers, i).name)
    save_and_load_in(machine.folder)
    for what in ("after save and load", "in the former layer after loading"):
        for frame, poses in play(FRAMES).items():
            moved = checks.not_stable(before[frame], poses, snapshot.exempt, snapshot.approximate)
            assert not moved, f"frame {frame} is another one {what}: {moved}"
        show(former)
    snapshot.check("save and load")


@edit(seed=SEED)
def play_in_any_order(seed):
    """Set frames in rising order, then in a random one: a frame has one pose."""
    settle()
    before, exempt = play(FRAMES), checks.with_history() | checks.with_unsolved()
    order = tuple(make_rng(seed).permutation(FRAMES * 2).tolist())
    now = bpy.context.scene.frame_current_final
    for frame in rigs.each_frame(order):
        moved = checks.not_stable(before[frame], checks.poses(), exempt)
        assert not moved, f"frame {frame} is another one in the order {order}: {moved}"
    rigs.go_to(now)


def referred_bones(ob: bpy.types.Object) -> list[str]:
    """Return the names by which chains refer to bones of an object's armature, in order."""
    names = []
    for other in bpy.data.objects:
        for chain in other.chain_ik.chains:
            if other.data == ob.data:
                names += [chain.bone, *(joint.bone for joint in chain.joints)]
            ends = ((chain.target, chain.subtarget), (chain.pole_target, chain.pole_subtarget))
            names += [name for aim, name in ends if aim is not None and aim.data == ob.data]
    return names


def rename(ob: bpy.types.Object, former: str, name: str, mode: str) -> None:
    """Rename a bone in a mode, update, and check that all references follow."""
    names = referred_bones(ob)
    (ob.data.edit_bones if mode == "EDIT" else ob.data.bones)[former].name = name
    if mode == "EDIT":
        bpy.ops.object.mode_set(mode="POSE")
    assert name in ob.data.bones, f"{former} has become another one than {name}"
    bpy.context.view_layer.update()
    expected = [name if old == former else old for old in names]
    assert referred_bones(ob) == expected, (
        f"bone '{former}' renamed to '{name}': chains tell {referred_bones(ob)}, not {expected}"
    )
    if mode == "EDIT":
        bpy.ops.object.mode_set(mode="EDIT")


@edit(scene.OF_BONE, times=TIMES, mode=MODES, meanwhile=MEANWHILE)
def rename_bone_there_and_back(ob, bone, times, mode, meanwhile):
    if not ob.data.is_editable or not ob.is_editable:
        return
    former = bone.name
    leave_modes()
    what = f"renaming bone '{former}' there and back {times} times in {mode}"
    with round_trip(what, is_restored=meanwhile == "mute"):
        if not enter(ob, mode):
            return
        chains = list(ob.chain_ik.chains)
        owners, name, value = {
            "rest": ([ob.data], "pose_position", "REST"),
            "mute": (chains, "mute", True),
            "without target": (chains, "target", None),
            "": ([], "", None),
        }[meanwhile]
        formers = [(owner, getattr(owner, name)) for owner in owners]
        for owner in owners:
            setattr(owner, name, value)
        bpy.context.view_layer.update()
        for _ in range(times):
            rename(ob, former, OTHER_NAME, mode)
            rename(ob, OTHER_NAME, former, mode)
        for owner, owner_value in formers:
            setattr(owner, name, owner_value)
        leave_modes()


def rename_there_and_back(thing: Any, times: int) -> None:
    former = thing.name
    with round_trip(f"renaming {thing} there and back"):
        for name in (OTHER_NAME, former) * times:
            rigs.change(thing, name=name)


@edit(scene.EDITABLE_OBJECT, times=TIMES)
def rename_object_there_and_back(ob, times):
    rename_there_and_back(ob, times)


@edit(scene.OF_CHAIN, times=TIMES)
def rename_chain_there_and_back(chain, times):
    rename_there_and_back(chain, times)
