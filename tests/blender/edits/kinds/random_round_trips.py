"""Edits that end where they began: the pose is then the one of before."""

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
from tests.blender.edits.random_scene import OF_OWN_RIG, OF_RIG, enter, leave_modes, picked
from tests.blender.edits.random_values import FLAG, SEED, THING, integers, one_of, sampled
from tests.blender.setups import rigs
from tests.helpers import make_rng

FRAMES = (1.0, 2.0, 2.5, 3.0, 4.0)
TIMES = integers(1, 2)
MODES = one_of("OBJECT POSE EDIT")
MEANWHILE = sampled(("", "mute", "rest", "without target"))
LONG = "Renamed"


def settle() -> None:
    """Show what is keyed: what a person has changed and not keyed is lost by any frame."""
    rigs.go_to(bpy.context.scene.frame_current_final)
    bpy.context.view_layer.update()


def played(frames: tuple[float, ...]) -> dict[float, checks.Poses]:
    """Return the poses at frames, in their order, and go back to where it was."""
    now, found = bpy.context.scene.frame_current_final, {}
    for frame in frames:
        rigs.go_to(frame)
        found[frame] = checks.poses()
    rigs.go_to(now)
    bpy.context.view_layer.update()
    return found


class Snapshot:
    """What is shown and stored now, to be compared with what is later.

    Armature objects that are exempt need not stay as they are, and those ``again`` not have the
    very same numbers. Chains that are given back meanwhile and not solved keep the stored pose.
    """

    def __init__(
        self, exempt: Callable[[], set[str]] = checks.with_history, is_given_back: bool = False
    ) -> None:
        self._poses, self._stored = checks.poses(), checks.stored(is_solved=is_given_back)
        self.exempt = exempt()
        if is_given_back:
            self.exempt |= checks.with_unsolved() | checks.with_converted()
        self.again: set[str] = set()

    def check(self, what: str) -> None:
        again = self.again | checks.with_history()
        moved = checks.not_stable(self._poses, checks.poses(), self.exempt, again)
        assert not moved, f"moved by {what}: {moved}"
        lost = checks.not_kept(self._stored, checks.stored())
        assert not lost, f"stored pose lost by {what}: {lost}"


@contextmanager
def round_trip(what: str, is_given_back: bool = False) -> Iterator[None]:
    """Check that pose and stored pose of the end are those of the beginning, at the same frame."""
    settle()
    before = Snapshot(is_given_back=is_given_back)
    yield
    settle()
    before.check(what)


def there_and_back(owners: list[Any], name: str, value: object, update: bool) -> None:
    former = [getattr(owner, name) for owner in owners]
    for values in ([value] * len(owners), former):
        for owner, each in zip(owners, values, strict=True):
            setattr(owner, name, each)
        if update:
            bpy.context.view_layer.update()


@edit(update=FLAG)
def live_off_and_on(update):
    settings = bpy.context.scene.chain_ik
    if not settings.use_live:
        return
    # Bones keep their poses meanwhile, so what is keyed is not set anew.
    before = Snapshot(checks.with_eased if update else checks.without_rest)
    there_and_back([settings], "use_live", False, update)
    checks.tag_all()
    before.check("live off and on")


@edit(OF_OWN_RIG, update=FLAG)
def mute_and_unmute(ob, update):
    with round_trip("mute and unmute", is_given_back=True):
        there_and_back(list(ob.chain_ik.chains), "mute", True, update)


@edit(OF_OWN_RIG)
def mute_and_unmute_all(ob):
    there_and_back(list(ob.chain_ik.chains), "mute", True, True)


@edit(OF_OWN_RIG, update=FLAG)
def influence_to_zero_and_back(ob, update):
    with round_trip("influence to zero and back", is_given_back=True):
        there_and_back(list(ob.chain_ik.chains), "influence", 0.0, update)


@edit(scene.OF_OWN_BONES, update=FLAG)
def rest_position_and_back(ob, update):
    if ob.data.pose_position == "POSE":
        with round_trip("rest position and back"):
            there_and_back([ob.data], "pose_position", "REST", update)


@edit(OF_RIG, mode=one_of("POSE EDIT"))
def mode_and_back(ob, mode):
    # In edit mode chains keep what they had before they were changed.
    leave_modes()
    with round_trip(f"mode {mode} and back"):
        if enter(ob, mode):
            bpy.context.view_layer.update()
        leave_modes()


@edit(i=THING)
def layer_and_back(i):
    former = bpy.context.view_layer.name
    with round_trip("another view layer and back"):
        show(picked(bpy.context.scene.view_layers, i).name)
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
    """Return the armature objects that hang on overrides whose bones have other rotation modes.

    When Blender loads such an override it sets the mode once more, which turns what the bone was
    set to before anew, a digit off.
    """
    return checks.hanging_on(_has_other_modes)


def _has_other_modes(ob: bpy.types.Object) -> bool:
    """Tell whether an override gives a bone another rotation mode than its library does."""
    modes = [{b.name: b.rotation_mode for b in each.pose.bones} for each in _with_reference(ob)]
    return len(modes) > 1 and modes[0] != modes[1]


def with_unsaved() -> set[str]:
    """Return the armature objects that hang on what Blender does not save, or only a part of.

    It saves nothing that only constraints and drivers use, nor what is changed of what is linked.
    Of an override it saves no drivers that it has been given where the library has animation, and
    no poses of bones that are others than in the library, as of another armature.
    """
    return checks.hanging_on(lambda ob: not ob.users or ob.library or _is_saved_in_part(ob))


def _is_saved_in_part(ob: bpy.types.Object) -> bool:
    if len(both := _with_reference(ob)) < 2:
        return False
    bones = [[bone.name for bone in each.pose.bones] for each in both]
    driven = [{(d.data_path, d.array_index) for d in checks.drivers_of(each)} for each in both]
    return bones[0] != bones[1] or (both[1].animation_data and driven[0] != driven[1])


def _with_reference(ob: bpy.types.Object) -> list[bpy.types.Object]:
    """Return an armature object and what it overrides, if that has a pose as well."""
    reference = ob.override_library.reference if ob.override_library else None
    return [ob, reference] if ob.pose and reference is not None and reference.pose else []


@edit(i=THING)
def save_load_and_play(machine, i):
    """Save while another view layer may be shown, load, and play the frames again."""
    leave_modes()
    settle()
    former = bpy.context.view_layer.name
    before, kept = played(FRAMES), Snapshot(is_given_back=True)
    kept.exempt |= with_unsaved()
    kept.again = with_other_modes()
    show(picked(bpy.context.scene.view_layers, i).name)
    save_and_load_in(machine.folder)
    for what in ("after save and load", "in the former layer after loading"):
        for frame, poses in played(FRAMES).items():
            moved = checks.not_stable(before[frame], poses, kept.exempt, kept.again)
            assert not moved, f"frame {frame} is another one {what}: {moved}"
        show(former)
    kept.check("save and load")


@edit(seed=SEED)
def play_in_any_order(seed):
    """Set frames in rising order, then in any: each has one pose."""
    settle()
    before, exempt = played(FRAMES), checks.with_history() | checks.with_unsolved()
    order = tuple(make_rng(seed).permutation(FRAMES * 2).tolist())
    now = bpy.context.scene.frame_current_final
    for frame in order:
        rigs.go_to(frame)
        moved = checks.not_stable(before[frame], checks.poses(), exempt)
        assert not moved, f"frame {frame} is another one in the order {order}: {moved}"
    rigs.go_to(now)


def names_told(ob: bpy.types.Object) -> list[str]:
    """Return the names of bones of an object's armature that chains tell, in order."""
    found = []
    for other in bpy.data.objects:
        for chain in other.chain_ik.chains:
            if other.data == ob.data:
                found += [chain.bone, *(joint.bone for joint in chain.joints)]
            ends = ((chain.target, chain.subtarget), (chain.pole_target, chain.pole_subtarget))
            found += [name for aim, name in ends if aim is not None and aim.data == ob.data]
    return found


def rename(ob: bpy.types.Object, former: str, name: str, mode: str) -> None:
    """Rename a bone in a mode, update, and check that all that named it names it still."""
    told = names_told(ob)
    (ob.data.edit_bones if mode == "EDIT" else ob.data.bones)[former].name = name
    if mode == "EDIT":
        bpy.ops.object.mode_set(mode="POSE")
    assert name in ob.data.bones, f"{former} has become another one than {name}"
    bpy.context.view_layer.update()
    expected = [name if each == former else each for each in told]
    assert names_told(ob) == expected, (
        f"bone '{former}' renamed to '{name}': chains tell {names_told(ob)}, not {expected}"
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
    with round_trip(what, is_given_back=meanwhile == "mute"):
        if not enter(ob, mode):
            return
        chains = list(ob.chain_ik.chains)
        owners, name, value = {
            "rest": ([ob.data], "pose_position", "REST"),
            "mute": (chains, "mute", True),
            "without target": (chains, "target", None),
            "": ([], "", None),
        }[meanwhile]
        held = [(owner, getattr(owner, name)) for owner in owners]
        for owner in owners:
            setattr(owner, name, value)
        bpy.context.view_layer.update()
        for _ in range(times):
            rename(ob, former, LONG, mode)
            rename(ob, LONG, former, mode)
        for owner, each in held:
            setattr(owner, name, each)
        leave_modes()


def rename_there_and_back(thing: Any, times: int) -> None:
    former = thing.name
    with round_trip(f"renaming {thing} there and back"):
        for name in (LONG, former) * times:
            rigs.change(thing, name=name)


@edit(scene.OF_OWN_OBJECT, times=TIMES)
def rename_object_there_and_back(ob, times):
    rename_there_and_back(ob, times)


@edit(scene.OF_CHAIN, times=TIMES)
def rename_chain_there_and_back(chain, times):
    rename_there_and_back(chain, times)
