"""Undo, redo, save, load, link, override, copy: chains go on, or say why they cannot."""

import re
from pathlib import Path

import bpy
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import linked, reopen
from tests.blender.setups.warm_rigs import chain, named
from tests.helpers import assert_positions_close

NEAR, FAR = (0.6, 0.5, 1.2), (-0.7, 0.4, 0.8)


def push(step: str) -> None:
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message=step)


@pytest.mark.parametrize("is_added", [False, True])
def test_a_linked_rig_is_left_alone_and_a_chain_of_its_override_follows_a_local_target(
    tmp_path, is_added
):
    rigs.make_arm(NEAR)
    ob = linked(tmp_path / "library.blend", "Rig", "Rig Target")[0]
    before = rigs.rotations(ob)
    for frame in (2, 3):
        rigs.tagged(ob)
        rigs.go_to(frame)
    assert rigs.rotations(ob) == before
    assert re.search("linked.*override", ob.chain_ik.chains[0].status)
    ob, target = ob.override_create(remap_local_usages=True), rigs.make_empty("Local", FAR)
    if is_added:
        ob.chain_ik.chains[0].mute = True
        rigs.add_chain(ob, "Bone.1", target)
    else:
        ob.chain_ik.chains[0].target = target
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())
    reopen(tmp_path / "user.blend")
    ob = next(each for each in bpy.data.objects if each.override_library and each.pose)
    target = bpy.data.objects["Local"]
    assert ob.chain_ik.chains[-1].target == target
    target.location = NEAR
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())


@pytest.mark.parametrize("was_live", [True, False])
def test_a_file_in_which_the_target_was_moved_without_a_solve_is_solved_on_load(was_live, tmp_path):
    _ob, target = rigs.make_arm()
    rigs.change(target, hide_render=True)
    bpy.context.scene.chain_ik.use_live = was_live
    target.location = FAR
    for _ in range(2):
        reopen(tmp_path / "saved.blend")
    if not was_live:
        assert not bpy.context.scene.chain_ik.use_live
        bpy.context.scene.chain_ik.use_live = True
    assert_positions_close(rigs.tail(named("Rig"), "Bone.1"), FAR, rigs.REACHED)
    # Its anchor is not made twice.
    assert len(named("Rig").pose.bones["Bone.0"].constraints) == 1


@pytest.mark.parametrize("is_own_target", [False, True])
def test_nothing_is_evaluated_inside_undo_and_redo(is_own_target):
    rigs.make_arm(NEAR)
    push("made")
    if is_own_target:
        ob = named("Rig")
        rigs.add_bones(ob, ((0.6, 0.5, 1.2), (0.6, 0.5, 1.5)), prefix="Control")
        chain().target, chain().subtarget = ob, "Control.0"
        push("own target")
    named("Rig").location = (0.1, 0.2, 0.3)
    push("moved")
    for step, event in ((bpy.ops.ed.undo, "undo_post"), (bpy.ops.ed.redo, "redo_post")):
        # Which events Blender tells of, each after the add-on has answered it.
        events, noting = [], {}
        for name in (event, "depsgraph_update_post"):
            noting[name] = lambda *_given, name=name, events=events: events.append(name)
            getattr(bpy.app.handlers, name).append(noting[name])
        step()
        for name, handler in noting.items():
            getattr(bpy.app.handlers, name).remove(handler)
        assert events == [*noting]
        assert chain().status == "Reached"


OLD = Path(__file__).parents[2] / "data" / "caps_before_finish.blend"
BARE = {"FABRIK 10": False, "CCD 20": False, "FABRIK 21": True, "NEWTON 10": True}


def finishes(name: str = "Rig") -> dict[str, bool]:
    return {chain.name: chain.use_finish for chain in bpy.data.objects[name].chain_ik.chains}


def test_caps_of_an_older_file_leave_the_finish_out_and_what_is_set_or_new_is_kept(tmp_path):
    bpy.ops.wm.open_mainfile(filepath=str(OLD))
    assert finishes() == BARE
    bpy.data.objects["Rig"].chain_ik.chains["FABRIK 10"].use_finish = True
    chain = rigs.make_rig(name="New").chain_ik.chains.add()
    chain.name, chain.solver, chain.iterations = "Low", "FABRIK", 10
    reopen(tmp_path / "new.blend")
    assert finishes() == {**BARE, "FABRIK 10": True}
    assert finishes("New") == {"Low": True}


@pytest.mark.skipif(
    not hasattr(bpy.app.handlers, "blend_import_post"), reason="nothing tells of what is appended"
)
@pytest.mark.parametrize("link", [False, True])
def test_what_comes_from_an_older_file_leaves_the_finish_out(link):
    with bpy.data.libraries.load(str(OLD), link=link) as (_, wanted):
        wanted.objects = ["Rig"]
    assert finishes() == BARE
