"""Spaces of controls, switched without moving the control."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.properties.controls.space_names import space_names
from blender_ik_addon.rig.tools import fk_ik, space_keys
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import strip_of
from tests.blender.setups.selecting import press, refusal, select_bones, symmetrize
from tests.helpers import make_rng

switch = bpy.ops.pose.chain_ik_switch_space

LIMB = ((0.2, 0.0, 1.0), (0.7, 0.1, 1.0), (1.2, 0.0, 1.0), (1.4, 0.0, 1.0))
ARM = ("upper_arm.L", "forearm.L", "hand.L")
KINDS = ("BONE", "EMPTY")
SCALES = ((1, 1, 1), (-1, 1, 1), (1.2, 0.8, 1.5))
# Spaces of the controls: none, bones, one of them with segments, and an object.
SPACES = ("", "Body.0", "Body.1", "Curved", "Prop")
# Largest move of a control by a switch, as a share of the size of its rig, about one unit.
MAX_MOVE = 1e-5


def make_body(kind: str = "BONE", scale=(1, 1, 1)) -> bpy.types.Object:
    ob = rigs.make_armature()
    rigs.add_bones(ob, ((0, 0, 0), (0.1, 0, 0.6), (0, 0, 1.2)), prefix="Body")
    rigs.add_bones(ob, ((-0.5, 0.3, 0), (-0.5, 0.2, 0.5)), names=("Curved",))
    ob.data.bones["Curved"].bbone_segments = 4
    rigs.add_bones(ob, LIMB, names=ARM, parent="Body.1", is_connected=False)
    rigs.make_empty("Prop", (0.5, -0.4, 0.3)).rotation_euler = (0.2, 0.5, -1.0)
    ob.location, ob.rotation_euler, ob.scale = (0.3, 0.2, 0.1), (0.2, -0.3, 0.8), scale
    select_bones(ob, ARM)
    press(bpy.ops.pose.chain_ik_add, control=kind, use_pole=True)
    return ob


def control_of(ob: bpy.types.Object, which: str) -> bpy.types.Object | bpy.types.PoseBone:
    chain = ob.chain_ik.chains[0]
    name = "target" if which == "TARGET" else "pole_target"
    bone = chain.subtarget if which == "TARGET" else chain.pole_subtarget
    return ob.pose.bones[bone] if bone else getattr(chain, name)


def matrix_of(control: bpy.types.Object | bpy.types.PoseBone) -> np.ndarray:
    """Return the world matrix of a control without scale and shear, as chains use it."""
    matrix = _world(control)
    matrix[:3, :3] = rotation.orientation(matrix[:3, :3].astype(np.float64))
    return matrix


def move_things(ob: bpy.types.Object, rng: np.random.Generator, frame: int | None = None) -> None:
    """Pose the spaces of the controls at random, and key them at a frame."""
    for thing in (ob.pose.bones["Body.0"], ob.pose.bones["Body.1"], ob.pose.bones["Curved"]):
        turn = rng.normal(size=4) * 0.3 + (1.0, 0.0, 0.0, 0.0)
        thing.rotation_quaternion = turn / np.linalg.norm(turn)
        thing.location = rng.uniform(-0.2, 0.2, 3) * (thing.name != "Body.1")
    prop = bpy.data.objects["Prop"]
    prop.location, prop.rotation_euler = rng.uniform(-1, 1, 3), rng.uniform(-2, 2, 3)
    if frame is not None:
        for thing in (*ob.pose.bones[:3], prop):
            thing.keyframe_insert("location", frame=frame)
            thing.keyframe_insert(rigs.rotation_property(thing), frame=frame)
    rigs.updated()


def move_control(
    control: bpy.types.Object | bpy.types.PoseBone,
    rng: np.random.Generator,
    frame: int | None = None,
) -> None:
    control.location = np.array(control.location) + rng.uniform(-0.2, 0.2, 3)
    turn = Matrix.Rotation(rng.uniform(-1, 1), 4, rng.normal(size=3)).to_quaternion()
    if control.rotation_mode == "QUATERNION":
        control.rotation_quaternion = turn @ control.rotation_quaternion
    else:
        control.rotation_euler = (turn @ control.rotation_euler.to_quaternion()).to_euler()
    for path in ("location", rigs.rotation_property(control)) if frame is not None else ():
        control.keyframe_insert(path, frame=frame)
    rigs.updated()


def test_the_list_of_spaces_offers_names_that_contain_the_text_in_any_case():
    chain = make_body().chain_ik.chains[0]
    assert space_names(chain, "TARGET", "BODY") == ["Body.0", "Body.1"]
    assert space_names(chain, "TARGET", "prop") == ["Prop"]
    assert space_names(chain, "TARGET", "no such thing") == []
    # Bones that the target moves cannot be its space.
    assert not set(ARM) & set(space_names(chain, "TARGET"))


@pytest.mark.parametrize(("kind", "scale"), [*zip(("BONE", "EMPTY", "BONE"), SCALES, strict=True)])
def test_a_setting_switches_the_space_of_a_control_and_nothing_moves(kind, scale):
    ob, rng = make_body(kind, scale), make_rng(0)
    chain = ob.chain_ik.chains[0]
    for _ in range(8):
        for which, setting in (("TARGET", "space"), ("POLE", "pole_space")):
            move_things(ob, rng)
            control = control_of(ob, which)
            move_control(control, rng)
            before = matrix_of(control)
            space = SPACES[rng.integers(len(SPACES))]
            rigs.change(chain, **{setting: space})
            assert getattr(chain, setting) == space
            np.testing.assert_allclose(matrix_of(control), before, atol=MAX_MOVE)


@pytest.mark.parametrize(
    ("kind", "space"),
    [
        *(("BONE", "Body.0"), ("EMPTY", "Curved"), ("BONE", "Prop"), ("EMPTY", "Prop")),
        # Without a space a bone goes along with the armature object, an empty with nothing.
        *(("BONE", ""), ("EMPTY", "")),
    ],
)
def test_a_control_moves_with_its_space_like_a_part_of_it(kind, space):
    ob, rng = make_body(kind), make_rng(1)
    chain, control = ob.chain_ik.chains[0], control_of(ob, "TARGET")
    world = ob if kind == "BONE" else rigs.make_empty("Still")
    carrier = {"Prop": bpy.data.objects["Prop"], "": world}.get(space) or ob.pose.bones[space]
    move_things(ob, rng)
    rigs.change(chain, space=space)
    local = np.linalg.inv(_world(carrier)) @ _world(control)
    for _ in range(3):
        move_things(ob, rng)
        np.testing.assert_allclose(
            np.linalg.inv(_world(carrier)) @ _world(control), local, atol=MAX_MOVE
        )
    # An armature object moves its bones, and so controls in their spaces.
    before = _world(control)
    rigs.shift(ob, x=1.0)
    moves = space != "Prop" and (kind, space) != ("EMPTY", "")
    np.testing.assert_allclose((_world(control) - before)[:3, 3], (moves, 0, 0), atol=MAX_MOVE)


def _world(thing: bpy.types.Object | bpy.types.PoseBone) -> np.ndarray:
    if isinstance(thing, bpy.types.PoseBone):
        owner = rigs.evaluated(thing.id_data)
        return np.array(owner.matrix_world @ owner.pose.bones[thing.name].matrix)
    return np.array(rigs.evaluated(thing).matrix_world)


def matrix_at(ob: bpy.types.Object, which: str, frame: float) -> np.ndarray:
    rigs.go_to(frame)
    return matrix_of(control_of(ob, which))


def target_matrices(ob: bpy.types.Object) -> dict[int, np.ndarray]:
    return {frame: matrix_at(ob, "TARGET", frame) for frame in range(1, 41)}


def assert_at_most_one_acts(control: bpy.types.Object | bpy.types.PoseBone) -> None:
    for frame in range(1, 63):
        values = sorted(curve.evaluate(frame) for curve in influences(control))
        assert values in ([0.0] * len(values), [0.0] * (len(values) - 1) + [1.0])


def influences(control: bpy.types.Object | bpy.types.PoseBone) -> list[bpy.types.FCurve]:
    path = control.path_from_id() + "." if isinstance(control, bpy.types.PoseBone) else ""
    curves = rigs.curves_of(control.id_data)
    return [curve for curve in curves if curve.data_path.startswith(f"{path}constraints[")]


@pytest.mark.parametrize(("kind", "scale"), [("BONE", SCALES[0]), ("EMPTY", SCALES[1])])
def test_a_keyed_switch_moves_nothing_at_its_frame_nor_at_the_one_before(kind, scale):
    ob, rng = make_body(kind, scale), make_rng(7)
    for frame in (1, 20, 40, 60):
        move_things(ob, rng, frame)
        for which in ("TARGET", "POLE"):
            move_control(control_of(ob, which), rng, frame)
    for _ in range(8):
        which = ("TARGET", "POLE")[rng.integers(2)]
        frame = int(rng.integers(2, 61))
        before = {at: matrix_at(ob, which, at) for at in (frame - 1, frame)}
        press(switch, which=which, space=SPACES[rng.integers(len(SPACES))])
        assert np.abs(matrix_of(control_of(ob, which)) - before[frame]).max() <= MAX_MOVE
        for at, matrix in before.items():
            assert np.abs(matrix_at(ob, which, at) - matrix).max() <= MAX_MOVE
        rigs.go_to(frame)
        assert_at_most_one_acts(control_of(ob, which))


def test_a_switch_holds_up_to_the_next_one_and_nothing_moves_between_frames():
    ob = make_body()
    rigs.change(ob.pose.bones["Body.1"], location=(0.4, 0.0, 0.0))
    before = matrix_of(control_of(ob, "TARGET"))
    for frame, space in ((20, "Body.0"), (50, ""), (30, "Prop"), (10, "Body.1")):
        rigs.go_to(frame)
        press(switch, space=space)
    expected = {9: "", 10: "Body.1", 19: "Body.1", 20: "Body.0", 29: "Body.0", 30: "Prop"}
    for frame, space in (expected | {49: "Prop", 50: "", 60: ""}).items():
        rigs.go_to(frame)
        assert ob.chain_ik.chains[0].space == space, frame
    for _ in rigs.each_frame((9.0, 9.25, 9.5, 9.75, 10.0)):
        np.testing.assert_allclose(matrix_of(control_of(ob, "TARGET")), before, atol=MAX_MOVE)
    assert_at_most_one_acts(control_of(ob, "TARGET"))


@pytest.mark.parametrize("kind", KINDS)
def test_fk_and_ik_are_matched_through_a_space(kind):
    ob = make_body(kind)
    chain = ob.chain_ik.chains[0]
    chain.space, chain.pole_space = "Body.0", "Prop"
    move_things(ob, make_rng(5))
    rigs.change(chain, influence=0.0)
    for name in ARM:
        ob.pose.bones[name].rotation_quaternion = (0.9, 0.2, -0.3, 0.1)
    rigs.updated()
    before = rigs.matrices(ob)
    press(bpy.ops.pose.chain_ik_snap_target)
    rigs.change(ob.chain_ik.chains[0], influence=1.0)
    assert ob.chain_ik.chains[0].status.startswith("Reached")
    for name in ARM:
        np.testing.assert_allclose(rigs.matrices(ob)[name], before[name], atol=1e-4)


def test_spaces_that_would_make_a_cycle_are_neither_offered_nor_accepted(caplog):
    ob = make_body()
    chain = ob.chain_ik.chains[0]
    # A second chain, whose target hangs on a bone of the first one.
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 0.5), (2.1, 0, 1.0)), prefix="Tail")
    follower = rigs.make_empty("Follower", (2.1, 0, 0.9))
    follower.parent, follower.parent_type, follower.parent_bone = ob, "BONE", "hand.L"
    rigs.add_chain(ob, "Tail.1", follower)
    rigs.updated()
    ob.chain_ik.active_index = 0
    control = chain.subtarget
    for name in ("hand.L", "forearm.L", control, "Tail.1", "Follower"):
        assert refusal(switch, space=name) == (
            f"Space '{name}' moves with '{control}', or could do so through one of its"
            " constraints: choose another space, or delete that constraint."
        )
    assert chain.space == ""
    chain.space = "hand.L"
    assert chain.space == ""
    assert f"Space 'hand.L' moves with '{control}', or could" in caplog.text
    assert refusal(switch, space="Nowhere").startswith("There is no bone or object 'Nowhere'")


def test_a_space_with_zero_scale_and_any_space_of_a_control_with_a_parent_are_refused():
    ob = make_body()
    rigs.change(bpy.data.objects["Prop"], scale=(1, 0, 1))
    assert refusal(switch, space="Prop") == (
        "Space 'Prop' has a scale of zero, so nothing can follow it: choose another space."
    )
    control = ob.chain_ik.chains[0].subtarget
    rigs.hang_bone(ob, control, "Body.0")
    assert refusal(switch, space="Body.1") == (
        f"Control '{control}' has the parent 'Body.0', so a space would move it twice: clear the"
        " parent first."
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_mirrored_control_has_the_mirrored_space(kind):
    ob = make_body(kind)
    rigs.add_bones(ob, ((0.3, 0, 0), (0.3, 0, 0.2)), names=("Hip.L",))
    symmetrize(ob, *ARM, "Hip.L")
    rigs.enter(ob, "POSE")
    rigs.change(ob.chain_ik.chains[0], space="Hip.L", pole_space="Body.0")
    press(bpy.ops.pose.chain_ik_mirror)
    copy = ob.chain_ik.chains[1]
    assert (copy.space, copy.pole_space) == ("Hip.R", "Body.0")
    assert copy.status.startswith("Reached")


def make_shot(kind: str) -> bpy.types.Object:
    """Return a body that moves, whose hand goes along with a bone from frame 20 on."""
    ob, rng = make_body(kind), make_rng(4)
    for frame in (1, 15, 40):
        move_things(ob, rng, frame)
        move_control(control_of(ob, "TARGET"), rng, frame)
    rigs.go_to(20)
    press(switch, space="Body.1")
    return ob


@pytest.mark.parametrize(("kind", "space"), [("EMPTY", "Prop"), ("BONE", "")])
def test_over_a_range_a_control_stays_where_an_earlier_switch_placed_it(kind, space):
    ob = make_shot(kind)
    before = target_matrices(ob)
    between = {frame: matrix_at(ob, "TARGET", frame) for frame in np.arange(10.5, 19.0)}
    rigs.go_to(20)
    press(switch, space=space, use_range=True, frame_start=10, frame_end=30)
    assert bpy.context.scene.frame_current == 20
    after = target_matrices(ob)
    for frame in range(10, 31):
        np.testing.assert_allclose(after[frame], before[frame], atol=MAX_MOVE, err_msg=str(frame))
        rigs.go_to(frame)
        assert ob.chain_ik.chains[0].space == space
    # After the range the former space acts again, and plays the keys that are in it.
    for frame in (1, 9, *range(31, 41)):
        np.testing.assert_allclose(after[frame], before[frame], atol=MAX_MOVE, err_msg=str(frame))
    rigs.go_to(31)
    assert ob.chain_ik.chains[0].space == "Body.1"
    # Half way between two keys the control has not spun.
    for frame, matrix in between.items():
        np.testing.assert_allclose(matrix_at(ob, "TARGET", frame), matrix, atol=0.02)
    assert_at_most_one_acts(control_of(ob, "TARGET"))


@pytest.mark.parametrize("played_by", ["NLA", "NOISE", "CYCLES"])
def test_over_a_range_a_control_stays_in_place_whatever_plays_it(played_by):
    ob, rng = make_body("EMPTY"), make_rng(3)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 40
    control = control_of(ob, "TARGET")
    for frame in (1, 10, 20):
        move_things(ob, rng, frame)
        move_control(control, rng, frame)
    if played_by == "NLA":
        strip_of(control)
    for curve in rigs.curves_of(control):
        curve.modifiers.new(played_by)
        curve.id_data.update_tag()
    before = target_matrices(ob)
    press(switch, space="Body.1", use_range=True, frame_start=12, frame_end=30)
    after = target_matrices(ob)
    for frame, matrix in before.items():
        np.testing.assert_allclose(after[frame], matrix, atol=MAX_MOVE, err_msg=str(frame))


def test_interpolations_of_a_range_are_set_once_for_each_curve(monkeypatch):
    calls = []
    for module in (fk_ik, space_keys):
        monkeypatch.setattr(module, "set_interpolation", lambda *args: calls.append(args))
    counts = []
    for last in (15, 35):
        make_shot("EMPTY")
        calls.clear()
        press(switch, space="Prop", use_range=True, frame_start=10, frame_end=last)
        counts.append(len(calls))
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("settings", [{}, {"use_range": True, "frame_start": 25, "frame_end": 30}])
def test_a_switch_to_the_present_space_says_that_nothing_has_changed(settings, capfd):
    ob = make_shot("BONE")
    keys = rigs.keys_of(ob)
    rigs.go_to(30)
    press(switch, space="Body.1", **settings)
    assert rigs.keys_of(ob) == keys
    assert (
        "hand Target.L: Body.1 acts here already, so nothing has changed" in capfd.readouterr().out
    )


@pytest.mark.parametrize(
    ("kind", "space", "settings"),
    [
        ("EMPTY", "Prop", {}),
        ("BONE", "Body.1", {"use_range": True, "frame_start": 8, "frame_end": 12}),
    ],
)
def test_a_switch_before_another_one_keeps_the_keys_and_the_motion_of_that_one(
    kind, space, settings
):
    ob = make_shot(kind)
    before = target_matrices(ob)
    rigs.go_to(10)
    press(switch, space=space, **settings)
    after = target_matrices(ob)
    for frame in (1, 7, 10, 15, *range(19, 41)):
        np.testing.assert_allclose(after[frame], before[frame], atol=MAX_MOVE, err_msg=str(frame))
    # Half a frame before the later switch the control has not begun to move.
    np.testing.assert_allclose(matrix_at(ob, "TARGET", 19.5), before[19], atol=0.05)
    assert_at_most_one_acts(control_of(ob, "TARGET"))
