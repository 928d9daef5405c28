"""Live chains in the viewport: solved in the same update, below other chains too, and in crowds."""

import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.batches.rig_state import RigState
from blender_ik_addon.rig.live import live
from blender_ik_addon.rig.live.graph_state import MAX_LISTED_CHANGES
from blender_ik_addon.rig.posing.base_solve import BaseSolve
from tests.blender.setups import rigs, ties
from tests.helpers import assert_positions_close, make_rng, record_calls

LIMB = ((0.0, 0.0, 2.0), (0.3, 0.1, 2.7), (0.0, 0.0, 3.4))


def make_spine(name: str = "Spine") -> tuple[bpy.types.Object, bpy.types.Object]:
    ob = rigs.make_rig(name=name)
    target, _ = rigs.follow(ob, "Bone.1", (0.7, 0.4, 1.4), empty=f"{name} Target")
    return ob, target


def make_limb(ob: bpy.types.Object, parent: str = "") -> tuple[str, bpy.types.Object]:
    """Add a limb with a chain, first in the list; return the name of its tip, and its target."""
    rigs.add_bones(ob, LIMB, prefix="Limb", parent=parent)
    target, _ = rigs.follow(ob, "Limb.1", (1.2, 0.6, 2.0), empty="Limb Target", chain_count=2)
    ob.chain_ik.chains.move(len(ob.chain_ik.chains) - 1, 0)
    return "Limb.1", target


def test_a_chain_that_carries_another_rests_to_the_last_digit_while_that_one_moves():
    """Blender gives heads in single precision; below moved chains they are posed in double."""
    ob, target = make_spine()
    ob.location, ob.rotation_euler = (0.37, -1.21, 0.73), (0.3, 0.5, -0.2)
    ob.pose.bones["Bone.0"].location = (-1.237, 0.381, 0.077)
    rigs.limit_bones(ob, x=(-0.4, 0.3), z=(-0.2, 0.3))
    target.location = (2.0, -1.0, 0.3)
    _, limb_target = make_limb(ob, parent="Bone.1")
    rigs.updated()
    before = [rigs.rotations(ob)[name] for name in ("Bone.0", "Bone.1")]
    for step in range(8):
        limb_target.location.x += 0.07
        if step % 3 == 2:
            ob.update_tag()
        rigs.updated()
        assert [rigs.rotations(ob)[name] for name in ("Bone.0", "Bone.1")] == before


SESSION = """
import os, sys
sys.path.insert(0, {root!r})
import bpy, blender_ik_addon
blender_ik_addon.register()
from tests.blender.live import test_live
ob, target = test_live.make_spine()
test_live.make_limb(ob, parent="Bone.1")
target.location.x -= 0.5
bpy.context.view_layer.update()
ob.update_tag()
bpy.context.view_layer.update()
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.slow
def test_levels_solved_in_the_first_update_of_a_graph_leave_it_sound():
    """If a handler evaluates a new graph, plain tags crash Blender 4.2 to 5.0 later."""
    code = SESSION.format(root=str(Path(__file__).resolve().parents[3]))
    application = [bpy.app.binary_path, "--background", "--factory-startup", "--python-expr"]
    command = application if bpy.app.binary_path else [sys.executable, "-c"]
    process = subprocess.run([*command, code], capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr[-2000:]


@pytest.mark.parametrize("use_tail", [True, False])
def test_a_chain_under_bones_of_an_ik_constraint_is_solved_where_that_puts_them(use_tail):
    ob, spine_target = make_spine()
    tip, target = make_limb(ob, parent="Bone.0")
    target.location = (-0.2, 0.6, 1.8)
    rigs.add_bones(ob, ((0.0, 0.0, 2.0), (0.0, 0.0, 2.5)), prefix="End", parent="Bone.1")
    above = ob.pose.bones["Bone.1" if use_tail else "End.0"]
    goal = rigs.make_empty("IK Target", (-0.8, 0.3, 1.2))
    ties.constrain(above, "IK", target=goal, chain_count=2, use_tail=use_tail)
    for place in ((0.7, 0.4, 1.4), (0.5, -0.6, 1.3)):
        spine_target.location = place
        rigs.assert_reaches(ob, tip, target, rigs.updated())


def test_a_chain_whose_bones_an_ik_constraint_moves_with_one_above_is_refused():
    """It would depend on bones that it writes, and move at each update."""
    ob = rigs.make_rig(rigs.zigzag(5, 3))
    rigs.add_chain(ob, "Bone.2", rigs.make_empty(location=(0.7, 0.6, 1.4)), chain_count=2)
    ik = ob.pose.bones["Bone.3"].constraints.new("IK")
    rigs.updated()
    assert ob.chain_ik.chains[0].status.startswith("Reached")
    ik.target = rigs.make_empty("IK Target", (-0.8, 0.3, 1.2))
    rigs.tagged(ob)
    assert ob.chain_ik.chains[0].status == (
        "The constraint 'IK' of bone 'Bone.3' also moves bone 'Bone.0' above this chain: mute"
        " this constraint, or give it a shorter Chain Length."
    )
    ik.chain_count = 3
    rigs.tagged(ob)
    assert "above this chain" not in ob.chain_ik.chains[0].status
    rigs.assert_stays(ob)


OWN = "This chain moves its own"


@pytest.mark.parametrize("role", ["target", "pole_target"])
@pytest.mark.parametrize("way", ["at once", "through an empty", "through a bone"])
def test_a_chain_that_moved_its_own_target_is_solved_as_soon_as_no_constraint_ties_the_two(
    role, way
):
    ob, target = rigs.make_arm()
    chain, held = ob.chain_ik.chains[0], rigs.make_empty("Held", (0.3, -0.9, 1.1))
    setattr(chain, role, held)
    tied = held
    if way == "through an empty":
        tied = rigs.make_empty("Between")
        held.constraints.new("COPY_LOCATION").target = tied
    elif way == "through a bone":
        other = rigs.make_rig(name="Other")
        setattr(chain, role, other)
        setattr(chain, "subtarget" if role == "target" else "pole_subtarget", "Bone.1")
        tied = other.pose.bones["Bone.1"]
    rigs.updated()
    assert not chain.status.startswith(OWN)
    constraint = ties.constrain(tied, "COPY_ROTATION", target=ob, subtarget="Bone.1")
    rigs.updated()
    for _ in range(2):
        assert chain.status.startswith(OWN)
        rigs.change(constraint, mute=True)
        assert not chain.status.startswith(OWN)
        rigs.change(constraint, mute=False)
    assert chain.status.startswith(OWN)
    tied.constraints.remove(constraint)
    rigs.updated()
    assert not chain.status.startswith(OWN)
    if role == "pole_target":
        rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())


def test_a_rig_with_a_refused_chain_is_read_only_when_its_target_is_free_not_while_that_plays(
    monkeypatch,
):
    ob, target = rigs.make_arm()
    settings = {"target": ob, "subtarget": "Bone.1", "influence": 0.2}
    constraint = ties.constrain(target, "COPY_LOCATION", **settings)
    rigs.key(target, "location", {1: (0.6, 0.5, 1.2), 9: (0.2, 0.6, 1.0)})
    rigs.go_to(1)
    reads = record_calls(monkeypatch, RigState, "read")
    for frame in range(2, 6):
        rigs.go_to(frame)
    rigs.change(target.location, z=1.4)
    assert not reads
    assert ob.chain_ik.chains[0].status.startswith(OWN)
    constraint.mute = True
    rigs.assert_reaches(ob, "Bone.1", target, rigs.go_to(6))
    assert len(reads) == 1


def tie_by_spline(ob: bpy.types.Object, other: bpy.types.Object) -> None:
    curve = bpy.data.curves.new("Curve", "CURVE")
    curve.dimensions = "3D"
    points = curve.splines.new("POLY").points
    points.add(2)
    for point, place in zip(points, ((0, 0, 0), (0.4, 0, 0.9), (0, 0, 2)), strict=True):
        point.co = (*place, 1.0)
    path = rigs.link(bpy.data.objects.new("Curve", curve))
    path.parent, path.parent_type, path.parent_bone = other, "BONE", "Bone.1"
    ties.constrain(ob.pose.bones["Bone.1"], "SPLINE_IK", chain_count=2, target=path)


def tie_by_pole(ob: bpy.types.Object, other: bpy.types.Object) -> None:
    goal = rigs.make_empty("IK Target", (0.5, 0.2, 1.2))
    pole = {"pole_target": other, "pole_subtarget": "Bone.1"}
    ties.constrain(ob.pose.bones["Bone.1"], "IK", chain_count=2, target=goal, **pole)


def tie_by_custom_space(ob: bpy.types.Object, other: bpy.types.Object) -> None:
    space = {"target_space": "CUSTOM", "space_object": other, "space_subtarget": "Bone.1"}
    turned = rigs.make_empty("Turned")
    ties.constrain(ob.pose.bones["Bone.0"], "COPY_ROTATION", target=turned, **space)


# Functions that tie a rig to another one, or the bone, kind and settings of a constraint to it.
TIES = {
    "IK": ("Bone.1", "IK", {"chain_count": 2}),
    "spline": tie_by_spline,
    "pole": tie_by_pole,
    "root": ("Limb.0", "COPY_LOCATION", {}),
    "custom space": tie_by_custom_space,
}


@pytest.mark.every_case
@pytest.mark.parametrize("tie", TIES.values(), ids=TIES)
def test_a_chain_is_solved_after_whatever_a_constraint_of_its_root_or_above_reads(tie):
    ob = rigs.make_rig()
    tip, target = make_limb(ob, parent="Bone.0")
    other, other_target = make_spine("Other")
    if callable(tie):
        tie(ob, other)
    else:
        bone, kind, settings = tie
        ties.constrain(ob.pose.bones[bone], kind, target=other, subtarget="Bone.1", **settings)
    for place in ((0.7, 0.4, 1.4), (-0.9, 0.5, 0.6), (0.4, -0.8, 1.1)):
        depsgraph = rigs.change(other_target, location=place)
        gap = np.linalg.norm(rigs.tail(ob, tip, depsgraph) - rigs.position(target, depsgraph))
        assert ob.chain_ik.chains[0].residual == pytest.approx(gap, abs=1e-5)


def test_only_an_update_that_moves_bones_writes_them_and_idling_calls_nobody(monkeypatch):
    ob, target = rigs.make_arm()
    bystander = rigs.make_empty("Bystander", (0, 0, 0))
    rigs.updated()
    writes, calls = record_calls(monkeypatch, live, "write_pose"), []

    def note(scene: bpy.types.Scene, _depsgraph: bpy.types.Depsgraph) -> None:
        calls.append(scene.name)

    bpy.app.handlers.depsgraph_update_post.append(note)
    rigs.change(bystander.location, x=1.0)
    rigs.tagged(target)
    assert not writes
    calls.clear()
    target.location.x -= 0.2
    for _ in range(4):
        rigs.updated()
    bpy.app.handlers.depsgraph_update_post.remove(note)
    assert (len(writes), len(calls)) == (1, 1)
    rigs.assert_reaches(ob, "Bone.1", target)
    # The original bones have the pose too.
    assert_positions_close(ob.pose.bones["Bone.1"].tail, target.location, rigs.TARGET_GAP)


def test_bones_stay_while_live_is_off_or_the_rest_position_is_shown_and_follow_at_once_after():
    ob, target = rigs.make_arm()
    scene = bpy.context.scene
    for owner, name, off, on, place in (
        (scene.chain_ik, "use_live", False, True, (-0.5, -0.5, 1.0)),
        (ob.data, "pose_position", "REST", "POSE", (0.5, -0.5, 1.0)),
    ):
        setattr(owner, name, off)
        before = rigs.rotations(ob)
        target.location = place
        scene.frame_set(scene.frame_current + 1)
        bpy.context.view_layer.update()
        assert rigs.rotations(ob) == before
        rigs.assert_reaches(ob, "Bone.1", target, rigs.change(owner, **{name: on}))


def test_chains_are_compiled_again_only_where_their_bones_differ(monkeypatch):
    ob = rigs.make_rig(rigs.zigzag(3, length=0.7), is_connected=False)
    handle = rigs.add_bones(ob, ((0.0, 0.0, 0.0), (0.0, 0.2, 0.0)), prefix="Handle")[0]
    ob.pose.bones[handle].location = (0.5, 0.3, 0.9)
    rigs.add_chain(ob, "Bone.2", ob, subtarget=handle)
    rigs.updated()
    compiled = record_calls(monkeypatch, BaseSolve, "__init__")

    def assert_at_handle() -> None:
        depsgraph = rigs.updated()
        place = rigs.head(ob, handle, depsgraph)
        assert_positions_close(rigs.tail(ob, "Bone.2", depsgraph), place, rigs.TARGET_GAP)

    for place in ((0.4, 0.5, 0.8), (-0.3, 0.6, 1.0)):
        ob.pose.bones[handle].location = place
        assert_at_handle()
    assert not compiled
    ob.pose.bones["Bone.1"].location.y = 0.1
    assert_at_handle()
    assert len(compiled) == 1


COUNT = MAX_LISTED_CHANGES + 6


@pytest.fixture
def crowd() -> list[tuple[str, str]]:
    """The names of rigs, each with an arm of two or three bones, and of their targets."""
    names = []
    with rigs.live_off():
        for i in range(COUNT):
            ob = rigs.make_rig(rigs.zigzag(2 + i % 2, seed=i, length=0.9), f"Rig {i}")
            ob.location.x = 3.0 * i
            target = rigs.make_empty(f"Target {i}", (3.0 * i + 0.5, 0.4, 0.8))
            solver = "TWO_BONE" if i % 2 == 0 else "NEWTON"
            rigs.add_chain(ob, f"Bone.{1 + i % 2}", target, solver=solver)
            names.append((ob.name, target.name))
    bpy.context.view_layer.update()
    return names


def move_targets(crowd, seed: int) -> None:
    rng = make_rng(seed)
    for rig, target in crowd:
        offset = np.array((0.2, 0.0, 0.5)) + rng.uniform(-0.6, 0.6, 3)
        bpy.data.objects[target].location = np.array(bpy.data.objects[rig].location) + offset


def assert_all_reach(crowd, *excluded: str, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    depsgraph = depsgraph or rigs.updated()
    for i, (rig, target) in enumerate(crowd):
        if rig not in excluded:
            ob = bpy.data.objects[rig]
            rigs.assert_reaches(ob, f"Bone.{1 + i % 2}", bpy.data.objects[target], depsgraph)


@pytest.mark.slow
def test_targets_of_a_crowd_are_followed_also_if_rigs_move_or_some_are_hidden_or_all_were_muted(
    crowd,
):
    before = {rig: rigs.rotations(bpy.data.objects[rig]) for rig, _ in crowd}
    rig, target = crowd[7]
    bpy.data.objects[target].location.z -= 0.2
    assert_all_reach(crowd)
    changed = {name for name, _ in crowd if rigs.rotations(bpy.data.objects[name]) != before[name]}
    assert changed == {rig}
    live.memory.clear()
    for rig, _ in crowd[::5]:
        ob = bpy.data.objects[rig]
        ob.location.y += 0.3
        ob.rotation_euler.z += 0.2
    move_targets(crowd, 1)
    assert_all_reach(crowd)
    # Targets that are hidden and shown while all move are not mixed up.
    first, second = (bpy.data.objects[crowd[i][1]] for i in (1, 2))
    for hidden, shown in ((first, second), (second, first)):
        hidden.hide_viewport, shown.hide_viewport = True, False
        move_targets(crowd, 3)
        bpy.context.view_layer.update()
        move_targets(crowd, 4)
        assert_all_reach(crowd)
    for mute in (True, False):
        for rig, _ in crowd:
            bpy.data.objects[rig].chain_ik.chains[0].mute = mute
        bpy.context.scene.frame_set(2 + mute)
        move_targets(crowd, 8 + mute)
        bpy.context.view_layer.update()
    assert_all_reach(crowd)


def key_targets(crowd) -> None:
    for frame, seed in ((1, 5), (5, 6)):
        move_targets(crowd, seed)
        for _, target in crowd:
            bpy.data.objects[target].keyframe_insert("location", frame=frame)


def follow_a_parent(ob: bpy.types.Object) -> None:
    parent = rigs.make_empty("Parent", (0.0, 0.0, 0.0))
    rigs.key(parent, "rotation_euler", {1: (0.0, 0.0, 0.0), 5: (0.0, 0.3, 0.2)})
    ob.parent = parent


def follow_a_constraint(ob: bpy.types.Object) -> None:
    other = rigs.make_empty("Other", (0.0, 0.0, 0.0))
    rigs.key(other, "rotation_euler", {1: (0.0, 0.0, 0.0), 5: (0.0, 0.4, 0.1)})
    ties.constrain(ob, "COPY_ROTATION", target=other)


# Animation of one rig each, in a crowd whose targets are all keyed.
ANIMATED = {
    "influence": lambda ob: rigs.key(ob, "chain_ik.chains[0].influence", {1: 1.0, 5: 0.2}),
    "mute": lambda ob: rigs.key(ob, "chain_ik.chains[0].mute", {1: False, 5: True}),
    "flip": lambda ob: rigs.key(ob, "chain_ik.chains[0].use_flip_bend", {1: False, 5: True}),
    "bones": lambda ob: rigs.key_bones(ob, frames=(1, 5)),
    "object": lambda ob: rigs.key(ob, "delta_location", {1: (0, 0, 0), 5: (0, 0, 0.4)}),
    "hide": lambda ob: rigs.key(ob, "hide_viewport", {1: False, 5: True}),
    "parent": follow_a_parent,
    "tie": follow_a_constraint,
    "driver": lambda ob: setattr(ob.driver_add("location", 2).driver, "expression", "0.05 * frame"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "ways",
    [("influence", "mute", "bones", "object"), ("flip", "hide", "parent", "tie", "driver")],
    ids=str,
)
def test_a_crowd_that_plays_shows_on_every_frame_the_pose_of_a_fresh_session(crowd, ways):
    key_targets(crowd)
    changed = {crowd[3 + i][0]: way for i, way in enumerate(ways)}
    for name, way in changed.items():
        ANIMATED[way](bpy.data.objects[name])
    poses = {name: set() for name in changed}
    for frame in (1, 4, 2):
        depsgraph = rigs.go_to(frame)
        shown = {rig: rigs.pose(bpy.data.objects[rig], depsgraph) for rig, _ in crowd}
        assert_all_reach(crowd, *changed, depsgraph=depsgraph)
        live.memory.clear()
        depsgraph = rigs.go_to(frame)
        for rig, pose in shown.items():
            expected = rigs.pose(bpy.data.objects[rig], depsgraph)
            np.testing.assert_allclose(pose, expected, rtol=0.0, atol=2e-6, err_msg=rig)
        for name, variants in poses.items():
            variants.add(shown[name].tobytes())
    assert all(len(variants) > 1 for variants in poses.values())


@pytest.mark.slow
def test_lists_that_scripts_change_while_a_crowd_plays_are_read_even_of_rigs_that_rest(crowd):
    key_targets(crowd)
    resting, gone, removed, renamed = (bpy.data.objects[crowd[i][0]] for i in (4, 6, 8, 10))
    bpy.data.objects[crowd[4][1]].animation_data_clear()
    rigs.go_to(1)
    (graph,) = live.memory.graphs.values()
    # This rig changes alone: one that moves would have all lists read again.
    resting.chain_ik.chains.remove(0)
    rigs.go_to(2)
    assert resting.session_uid not in graph.rigs
    removed.chain_ik.chains.remove(0)
    renamed.chain_ik.chains[0].name = "Another"
    before = rigs.rotations(removed)
    assert_all_reach(crowd, resting.name, removed.name, depsgraph=rigs.go_to(4))
    assert rigs.rotations(removed) == before
    bpy.data.objects.remove(gone)
    rigs.go_to(3)
    assert len(graph.rigs) == COUNT - 3
