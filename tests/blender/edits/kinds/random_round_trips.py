"""Edits that end where they began: the pose is then the one of before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import bpy
from hypothesis import strategies as st

import blender_ik_addon
from tests.blender.edits import random_checks as checks
from tests.blender.edits import random_saving
from tests.blender.edits.kinds.random_layer_edits import show
from tests.blender.edits.random_scene import FLAG, SEED, THING, armature, edit, enter, picked
from tests.blender.setups import rigs
from tests.helpers import make_rng

FRAMES = (1.0, 2.0, 2.5, 3.0, 4.0)
MODES = st.sampled_from(("POSE", "EDIT"))


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


def assert_same_frames(
    before: dict[float, checks.Poses], after: dict[float, checks.Poses], what: str, kept: Snapshot
) -> None:
    """Check that frames have the poses of before."""
    for frame, poses in before.items():
        moved = checks.not_stable(poses, after[frame], kept.exempt, kept.again)
        assert not moved, f"frame {frame} is another one {what}: {moved}"


class Snapshot:
    """What is shown and stored now, to be compared with what is later.

    Args:
        exempt: Returns the names of armature objects that need not stay as they are.
        is_given_back: Whether chains give their stored poses back meanwhile: what is not solved
            keeps those.

    Attributes:
        exempt: Names of armature objects that need not stay as they are.
        again: Names of those that need not have the very same numbers.
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
        """Check that all is as it was.

        Raises:
            AssertionError: If it is not.
        """
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


class RoundTrips:
    """There and back."""

    @edit(update=FLAG)
    def live_off_and_on(self, update):
        scene = bpy.context.scene
        if not scene.chain_ik.use_live:
            return
        # Bones keep their poses meanwhile, so what is keyed is not set anew.
        before = Snapshot(checks.with_eased if update else checks.without_rest)
        scene.chain_ik.use_live = False
        if update:
            bpy.context.view_layer.update()
        scene.chain_ik.use_live = True
        checks.tag_all()
        before.check("live off and on")

    @edit(i=THING, update=FLAG)
    def mute_and_unmute(self, i, update):
        ob = armature(i)
        if ob is None or not ob.is_editable:
            return
        with round_trip("mute and unmute", is_given_back=True):
            live = [chain for chain in ob.chain_ik.chains if not chain.mute]
            for value in (True, False):
                for chain in live:
                    chain.mute = value
                if update:
                    bpy.context.view_layer.update()

    @edit(i=THING, update=FLAG)
    def influence_to_zero_and_back(self, i, update):
        ob = armature(i)
        if ob is None or not ob.is_editable:
            return
        with round_trip("influence to zero and back", is_given_back=True):
            former = [chain.influence for chain in ob.chain_ik.chains]
            for chain in ob.chain_ik.chains:
                chain.influence = 0.0
            if update:
                bpy.context.view_layer.update()
            for chain, value in zip(ob.chain_ik.chains, former, strict=True):
                chain.influence = value

    @edit(i=THING, update=FLAG)
    def rest_position_and_back(self, i, update):
        ob = armature(i)
        if ob is None or not ob.data.is_editable or ob.data.pose_position == "REST":
            return
        with round_trip("rest position and back"):
            for position in ("REST", "POSE"):
                ob.data.pose_position = position
                if update:
                    bpy.context.view_layer.update()

    @edit(i=THING, mode=MODES)
    def mode_and_back(self, i, mode):
        ob = armature(i)
        if ob is None:
            return
        # In edit mode chains keep what they had before they were changed.
        self.leave_modes()
        with round_trip(f"mode {mode} and back"):
            if enter(ob, mode):
                bpy.context.view_layer.update()
            self.leave_modes()

    @edit(i=THING)
    def layer_and_back(self, i):
        former = bpy.context.view_layer.name
        with round_trip("another view layer and back"):
            show(picked(bpy.context.scene.view_layers, i).name)
            settle()
            show(former)

    @edit()
    def unregister_and_register(self):
        with round_trip("unregister and register"):
            blender_ik_addon.unregister()
            bpy.context.view_layer.update()
            blender_ik_addon.register()

    @edit(i=THING)
    def save_load_and_play(self, i):
        """Save while another view layer may be shown, load, and play the frames again."""
        self.leave_modes()
        settle()
        former = bpy.context.view_layer.name
        before, kept = played(FRAMES), Snapshot(is_given_back=True)
        kept.exempt |= random_saving.with_unsaved()
        kept.again = random_saving.with_other_modes()
        show(picked(bpy.context.scene.view_layers, i).name)
        path = os.path.join(self.folder, "there.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
        assert_same_frames(before, played(FRAMES), "after save and load", kept)
        show(former)
        assert_same_frames(before, played(FRAMES), "in the former layer after loading", kept)
        kept.check("save and load")

    @edit(seed=SEED)
    def play_in_any_order(self, seed):
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
