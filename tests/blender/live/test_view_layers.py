"""View layers shown right after a change, rigs in two of them, and hidden objects."""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.renders import render_frames
from tests.blender.setups.saved_rigs import reopen

NEAR_PLACE, FAR_PLACE, SIDE_PLACE = (0.6, 0.5, 1.2), (0.0, 0.0, 4.2), (0.9, -0.4, 1.0)
# Owner, property, new value and original value.
CHANGES = {
    "target": (lambda ob: ob.chain_ik.chains[0].target, "location", SIDE_PLACE, NEAR_PLACE),
    "flip": (lambda ob: ob.chain_ik.chains[0], "use_flip_bend", True, False),
    "mute": (lambda ob: ob.chain_ik.chains[0], "mute", True, False),
    "turned": (lambda ob: ob, "rotation_euler", (0.3, 0.2, 0.1), (0.0, 0.0, 0.0)),
    # The chain writes this channel itself: a change of it changes nothing.
    "pose": (lambda ob: ob.pose.bones["Bone.0"], "rotation_quaternion", (0.8, 0, 0.6, 0), None),
}


def show(view_layer: bpy.types.ViewLayer) -> None:
    bpy.context.window_manager.windows[0].view_layer = view_layer


def solve_again(ob: bpy.types.Object) -> np.ndarray:
    """Tag and update everything again; return the pose."""
    return rigs.pose(ob, rigs.tagged(*bpy.data.objects))


@pytest.mark.parametrize("is_known", [False, True], ids=["never shown", "shown before"])
@pytest.mark.parametrize(("owner", "name", "changed", "original"), CHANGES.values(), ids=CHANGES)
def test_a_change_in_one_view_layer_is_solved_in_another_and_undone_there_all_is_as_before(
    owner, name, changed, original, is_known
):
    ob, _ = rigs.make_arm()
    first, second = bpy.context.view_layer, bpy.context.scene.view_layers.new("Second")
    for layer in (first, *(second, first) * is_known):
        show(layer)
        rigs.updated()
    before = rigs.pose(ob, first.depsgraph)
    if original is not None:
        setattr(owner(ob), name, changed)
        show(second)
        pose = rigs.pose(ob, rigs.updated())
        assert np.abs(pose - before).max() > 0.1
        np.testing.assert_array_equal(pose, solve_again(ob))
    for first_shown, second_shown in ((second, first), (first, second)):
        show(first_shown)
        setattr(owner(ob), name, changed)
        rigs.updated()
        show(second_shown)
        if original is not None:
            setattr(owner(ob), name, original)
        np.testing.assert_array_equal(rigs.pose(ob, rigs.updated()), before)
        assert status_of(ob) == "Reached"


@pytest.mark.parametrize(("count", "frame"), [(2, 1), (3, 20)])
def test_a_file_saved_in_another_view_layer_keeps_the_stored_pose(tmp_path, frame, count):
    ob = rigs.make_rig()
    rigs.turn_bones(ob)
    free = rigs.pose(ob)
    rigs.add_chain(ob, "Bone.1", rigs.make_empty("Rig Target"))
    bpy.context.view_layer.update()
    rigs.key(ob, "chain_ik.chains[0].influence", {8: 0.0, 28: 1.0})
    layers = [bpy.context.scene.view_layers.new("Other") for _ in range(1, count)]
    show(layers[-1])
    rigs.go_to(frame)
    reopen(tmp_path / "saved.blend")
    ob = bpy.data.objects["Rig"]
    for number in (1, 8, 28, 18, 8, 1):
        depsgraph = rigs.go_to(number)
        if number <= 8:
            np.testing.assert_allclose(rigs.pose(ob, depsgraph), free, atol=3e-6)
    rigs.assert_reaches(ob, "Bone.1", bpy.data.objects["Rig Target"], rigs.go_to(28))


@pytest.mark.parametrize(
    ("kind", "mode"), [("mesh", "EDIT"), ("mesh", "SCULPT"), ("armature", "EDIT")]
)
def test_view_layers_may_be_added_while_something_is_edited(kind, mode):
    ob, target = rigs.make_arm()
    if kind == "mesh":
        bpy.ops.mesh.primitive_cube_add()
        bpy.ops.object.mode_set(mode=mode)
    else:
        rigs.enter(rigs.make_rig(name="Edited"), mode)
    second = bpy.context.scene.view_layers.new("Second")
    rigs.updated()
    target.location = SIDE_PLACE
    show(second)
    pose = rigs.pose(ob, rigs.updated())
    rigs.assert_reaches(ob, "Bone.1", target)
    np.testing.assert_array_equal(pose, solve_again(ob))


def test_a_file_saved_in_edit_mode_in_a_view_layer_that_is_not_shown_opens(tmp_path):
    """Blender crashed: it asked for the edited data before that was open."""
    first = bpy.context.view_layer
    rigs.make_arm()
    show(bpy.context.scene.view_layers.new("Second"))
    rigs.enter(rigs.make_rig(name="Edited"), "EDIT")
    show(first)
    reopen(tmp_path / "edited.blend")
    assert status_of(bpy.data.objects["Rig"]) == "Reached"


def status_of(ob: bpy.types.Object) -> str:
    return ob.chain_ik.chains[0].status


def test_the_status_is_that_of_the_view_layer_shown():
    ob, target = rigs.make_arm()
    first, second = bpy.context.view_layer, bpy.context.scene.view_layers.new("Second")
    rigs.updated()
    for location, layer, word in (
        (FAR_PLACE, second, "Out of reach"),
        (NEAR_PLACE, first, "Reached"),
        (FAR_PLACE, first, "Out of reach"),
        (NEAR_PLACE, second, "Reached"),
        (NEAR_PLACE, first, "Reached"),
        (FAR_PLACE, first, "Out of reach"),
    ):
        target.location = location
        show(layer)
        rigs.updated()
        assert status_of(ob).startswith(word)
        distance = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target))
        assert ob.chain_ik.chains[0].residual == pytest.approx(distance, abs=rigs.TARGET_GAP)


def second_layer(*_objects: bpy.types.Object) -> bpy.types.ViewLayer:
    return bpy.context.scene.view_layers.new("Second")


def second_scene(*objects: bpy.types.Object) -> bpy.types.ViewLayer:
    scene = bpy.data.scenes.new("Second")
    for ob in objects:
        scene.collection.objects.link(ob)
    return scene.view_layers[0]


@pytest.mark.parametrize("make", [second_layer, second_scene])
def test_a_target_hidden_in_one_view_layer_is_followed_in_both(make):
    ob = rigs.make_rig()
    target = rigs.make_empty("Rig Target", collection=rigs.make_collection("Own"))
    rigs.add_chain(ob, "Bone.1", target)
    first, second = bpy.context.view_layer, make(ob, target)
    rigs.updated()
    first.layer_collection.children["Own"].exclude = True
    for location in ((0.7, 0.3, 1.2), (-0.6, 0.5, 0.8)):
        target.location = location
        for layer in (first, second):
            depsgraph = rigs.updated(layer)
            rigs.assert_reaches(ob, "Bone.1", target, depsgraph)
    rigs.key(target, "location", {1: (0.7, 0.3, 1.2), 11: (-0.6, 0.5, 0.8)})
    for frame in (11, 1, 6):
        for layer in (first, second):
            layer.id_data.frame_set(frame)
            rigs.assert_reaches(ob, "Bone.1", target, layer.depsgraph)
    # An update of one layer starts none of the other.
    before = rigs.rotations(ob)
    for layer in (first, second) * 3:
        ob.update_tag()
        layer.update()
        assert rigs.rotations(ob) == before


@pytest.mark.parametrize(
    ("settings", "is_shown"),
    [
        ({"solver": "FOLLOW", "follow_lead": "ROOT"}, False),
        ({"solver": "FORCE", "force.use_gradual": True}, True),
    ],
    ids=str,
)
def test_chains_that_remember_frames_play_the_same_with_one_view_layer_and_two(settings, is_shown):
    ob, target = rigs.make_arm()
    chain = ob.chain_ik.chains[0]
    for name, value in settings.items():
        *path, name = name.split(".")
        setattr(chain.path_resolve(path[0]) if path else chain, name, value)
    rigs.key(target, "location", {1: (0.7, 0.3, 1.2), 11: (-0.6, 0.5, 0.8)})
    expected = rigs.play(ob, range(1, 8))
    assert np.abs(expected[-1] - expected[0]).max() > 0.1
    second = second_layer()
    rigs.updated()
    if is_shown:
        show(second)
        rigs.updated()
    for _ in range(2):
        np.testing.assert_allclose(rigs.play(ob, range(1, 8)), expected, atol=3e-6)


def test_a_rig_that_another_scene_has_posed_does_not_claim_to_be_solved_here():
    ob, target = rigs.make_arm()
    rigs.key(target, "location", {1: (0.7, 0.3, 1.2), 11: (-0.6, 0.5, 0.8)})
    first, other = bpy.context.view_layer, second_scene(ob, target).id_data
    rigs.go_to(1)
    other.frame_set(11)
    rigs.updated(first)
    distance = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target))
    assert distance > 0.5
    chain = ob.chain_ik.chains[0]
    assert chain.status.startswith("Not solved here: another scene or window has posed")
    assert chain.residual == -1.0
    rigs.go_to(2)
    rigs.assert_reaches(ob, "Bone.1", target, first.depsgraph)
    assert chain.status == "Reached"


BACK_PLACE = (-0.7, 0.4, 0.8)
FRAMES = (2, 4)


def layer_collection() -> bpy.types.LayerCollection:
    return bpy.context.view_layer.layer_collection.children["Hidden"]


def hide_in_viewports(ob):
    ob.hide_viewport = True


def hide_in_renders(ob):
    ob.hide_render = True


def hide_after_the_first_frame(ob):
    for name in ("hide_viewport", "hide_render"):
        ob.driver_add(name).driver.expression = "frame > 1"


def exclude_and_hide_everywhere(ob):
    ob.hide_viewport = ob.hide_render = True
    layer_collection().exclude = True


HIDDEN = {
    "in viewports": ("target", hide_in_viewports),
    "in renders": ("pole", hide_in_renders),
    "by drivers": ("target", hide_after_the_first_frame),
    "by its eye": ("target bone", lambda ob: ob.hide_set(True)),
    "collection in viewports": (
        "target", lambda _: hide_in_viewports(bpy.data.collections["Hidden"]),
    ),
    "collection in renders": ("pole", lambda _: hide_in_renders(bpy.data.collections["Hidden"])),
    "collection by its eye": ("target bone", lambda _: hide_in_viewports(layer_collection())),
    "excluded": ("target", lambda _: setattr(layer_collection(), "exclude", True)),
    "everywhere": ("target bone", exclude_and_hide_everywhere),
}  # fmt: skip


def make_arm_with(role: str) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return a rig, and the object with this role that it follows, in the collection Hidden."""
    collection = rigs.make_collection("Hidden")
    ob = rigs.make_rig(rigs.zigzag(3, length=0.7))
    if role == "target bone":
        followed = rigs.make_rig(((0, 0, 0), (0, 0, 0.2)), name="Handle")
        collection.objects.link(followed)
        bpy.context.scene.collection.objects.unlink(followed)
        followed.location = NEAR_PLACE
        rigs.add_chain(ob, "Bone.2", followed, subtarget="Bone.0")
        return ob, followed
    followed = rigs.make_empty("Followed", NEAR_PLACE, collection=collection)
    if role == "target":
        rigs.add_chain(ob, "Bone.2", followed)
    else:
        rigs.add_chain(ob, "Bone.2", rigs.make_empty("Seen", (0, 0.3, 1)), pole_target=followed)
    return ob, followed


@pytest.mark.parametrize(("role", "hide"), HIDDEN.values(), ids=HIDDEN)
def test_what_is_hidden_is_followed_in_the_viewport_and_in_renders(role, hide, tmp_path):
    ob, followed = make_arm_with(role)
    near = rigs.pose(ob)
    followed.location = BACK_PLACE
    far = rigs.pose(ob)
    assert np.abs(far - near).max() > 0.1
    rigs.key(followed, "location", {1: NEAR_PLACE, 5: BACK_PLACE})
    frames = range(FRAMES[0], FRAMES[1] + 1)
    expected = {frame: rigs.pose(ob, rigs.go_to(frame)) for frame in frames}
    hide(followed)
    for location, pose in ((NEAR_PLACE, near), (BACK_PLACE, far)):
        rigs.change(followed, location=location)
        rigs.assert_same_pose(ob, pose)
    rigs.go_to(1)
    rendered = render_frames(tmp_path, lambda depsgraph: rigs.pose(ob, depsgraph), FRAMES)
    for frame, pose in expected.items():
        np.testing.assert_allclose(rendered[frame], pose, atol=3e-6, err_msg=f"frame {frame}")


@pytest.mark.parametrize("is_target_first", [True, False])
def test_a_target_that_was_hidden_before_the_chain_was_made_is_followed(is_target_first):
    ob = rigs.make_rig()
    target = rigs.make_empty(location=NEAR_PLACE, collection=rigs.make_collection("Hidden"))
    exclude_and_hide_everywhere(target)
    chain = ob.chain_ik.chains.add()
    if is_target_first:
        chain.target, chain.bone = target, "Bone.1"
    else:
        chain.bone, chain.target = "Bone.1", target
    for location in (NEAR_PLACE, BACK_PLACE):
        target.location = location
        tail = rigs.tail(ob, "Bone.1", rigs.updated())
        np.testing.assert_allclose(tail, location, atol=rigs.TARGET_GAP)


@pytest.mark.parametrize("follows_own_bone", [False, True])
@pytest.mark.parametrize("hide", [hide_in_viewports, hide_in_renders, exclude_and_hide_everywhere])
def test_a_hidden_rig_moves_the_mesh_that_it_deforms(hide, follows_own_bone, tmp_path):
    collection = rigs.make_collection("Hidden")
    ob, target = rigs.make_arm(NEAR_PLACE)
    collection.objects.link(ob)
    bpy.context.scene.collection.objects.unlink(ob)
    # No visible object depends on the tip.
    rigs.add_bones(ob, (rigs.ARM[2], (0, 0, 3)), names=["Hand"], parent="Bone.1")
    rigs.change(ob.chain_ik.chains[0], bone="Hand", use_tail=False)
    rigs.key(target, "location", {1: NEAR_PLACE, 5: BACK_PLACE})
    if follows_own_bone:
        rigs.add_bones(ob, ((0, 0, 0), (0, 1, 0)), names=["Control"])
        rigs.change(ob.chain_ik.chains[0], target=ob, subtarget="Control")
        rigs.key(ob, 'pose.bones["Control"].location', {1: NEAR_PLACE, 5: BACK_PLACE})
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata([rigs.ARM[2]], (), ())
    skin = rigs.link(bpy.data.objects.new("Skin", mesh))
    skin.vertex_groups.new(name="Bone.1").add([0], 1.0, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = ob
    hide(ob)

    def gap(depsgraph):
        corner = skin.evaluated_get(depsgraph).data.vertices[0].co
        return np.linalg.norm(np.array(corner) - rigs.position(target, depsgraph))

    for frame in rigs.each_frame(range(FRAMES[0], FRAMES[1] + 1)):
        assert gap(bpy.context.view_layer.depsgraph) < 1e-4, f"frame {frame}"
    bpy.context.scene.frame_set(1)
    for frame, distance in render_frames(tmp_path, gap, FRAMES).items():
        assert distance < 1e-4, f"rendered frame {frame}"


def test_no_object_is_taken_for_another_where_a_posed_bone_drives_what_is_hidden():
    # One object appears and another disappears, and Blender reports no change of any object.
    shown = rigs.make_empty(location=(9, 9, 9))
    ob = rigs.make_rig([(0, 0, 0), (0, 0.2, 1), (0, 0, 2)])
    target, hidden = rigs.make_empty(location=(0.5, 0.5, 1)), rigs.make_empty(location=(8, 8, 8))
    switch = rigs.make_rig([(3, 0, 0), (3, 0.2, 1)])
    bone = switch.pose.bones[0]
    bone["show"] = 0.0
    for empty, expression in ((shown, "show < 0.5"), (hidden, "show >= 0.5")):
        driver = empty.driver_add("hide_viewport").driver
        driver.expression, variable = expression, driver.variables.new()
        variable.name, variable.targets[0].id = "show", switch
        variable.targets[0].data_path = 'pose.bones["Bone.0"]["show"]'
    rigs.add_chain(ob, "Bone.1", target)
    rigs.add_chain(switch, "Bone.0", target, chain_count=1)
    for value in (1.0, 0.0):
        bone["show"] = value
        switch.update_tag(refresh={"DATA"})
        bpy.context.view_layer.update()
        np.testing.assert_allclose(rigs.tail(ob, "Bone.1"), target.location, atol=1e-5)
