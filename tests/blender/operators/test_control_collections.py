"""New empties go to the collection of their armature: they are linked and hidden with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import bpy
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import link_saved
from tests.blender.setups.selecting import press, select_bones, select_objects

add = partial(bpy.ops.pose.chain_ik_add, control="EMPTY")
pole_add = partial(bpy.ops.pose.chain_ik_pole_add, control="EMPTY")
setup = partial(bpy.ops.pose.chain_ik_setup, control="EMPTY")


def make_collection(name: str, above: bpy.types.Collection | None = None) -> bpy.types.Collection:
    collection = bpy.data.collections.new(name)
    (above or bpy.context.scene.collection).children.link(collection)
    return collection


def make_arm(*collections: bpy.types.Collection) -> bpy.types.Object:
    """Return an arm that lies in these collections alone, its bones selected."""
    ob = rigs.make_rig(rigs.ARM, names=("upper_arm.L", "forearm.L"))
    bpy.context.scene.collection.objects.unlink(ob)
    for collection in collections:
        collection.objects.link(ob)
    select_bones(ob, ["upper_arm.L", "forearm.L"])
    return ob


def collections_of_controls(ob: bpy.types.Object) -> set[str]:
    """Return the collections that targets and poles lie in."""
    (chain,) = ob.chain_ik.chains
    found = (chain.target, chain.pole_target)
    return {each.name for control in found if control for each in control.users_collection}


@pytest.mark.parametrize("press_all", [(setup, pole_add), (add,)])
def test_new_empties_go_where_the_armature_is(press_all: tuple[Callable[..., set[str]], ...]):
    ob = make_arm(make_collection("Hero", make_collection("Cast")))
    for each in press_all:
        press(each)
    assert ob.chain_ik.chains[0].pole_target is not None
    assert collections_of_controls(ob) == {"Hero"}


def test_collections_that_the_scene_lacks_or_does_not_show_take_none():
    """There they would not be evaluated, so the chain would not follow them."""
    elsewhere = bpy.data.collections.new("A elsewhere")
    excluded, hidden, shown = (make_collection(name) for name in ("B", "C", "D"))
    ob = make_arm(elsewhere, excluded, hidden, shown)
    below = bpy.context.view_layer.layer_collection.children
    below["B"].exclude, below["C"].hide_viewport = True, True
    bpy.context.view_layer.update()
    press(add)
    assert collections_of_controls(ob) == {"D"}


def link_collection(path: Path) -> bpy.types.Collection:
    """Return a collection of a file, linked into a new one."""
    (collection,) = link_saved(path, "collections", "Hero")
    bpy.context.scene.collection.children.link(collection)
    return collection


def override(collection: bpy.types.Collection) -> bpy.types.Object:
    """Return the rig of an override of a linked collection, active."""
    layer = bpy.context.view_layer
    collection.override_hierarchy_create(bpy.context.scene, layer, do_fully_editable=True)
    (ob,) = (each for each in bpy.data.objects if each.override_library and each.pose)
    select_objects(active=ob)
    return ob


def test_beside_an_override_they_go_to_the_scenes_own_collection(tmp_path: Path):
    """Blender adds nothing to overridden collections."""
    make_arm(make_collection("Hero"))
    ob = override(link_collection(tmp_path / "hero.blend"))
    press(setup)
    assert collections_of_controls(ob) == {bpy.context.scene.collection.name}
