"""Compare: the result of every solver is listed and drawn, and nothing on the rig changes."""

import math

import bpy
import numpy as np
import pytest

from blender_ik_addon.panels.sidebar.compare import figures
from blender_ik_addon.rig.comparing.comparing import CONTENDERS
from blender_ik_addon.rig.live import live
from tests.blender.body import human_bodies as bodies
from tests.blender.compare.compared_rigs import (
    BUILT_IN,
    JOINT_TOLERANCE,
    SETTINGS,
    compare,
    compare_all,
    in_steps,
    joints_of,
    limb,
    rows,
)
from tests.blender.keying.converted_rigs import CLOSE as CONSTRAINT_TOLERANCE
from tests.blender.keying.converted_rigs import Limb, to_constraints
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.saved_rigs import linked, opened
from tests.blender.setups.selecting import refusal, select_objects, state

KINDS = (
    "arm",
    "tail",
    "turned",
    "limited",
    "scaled",
    "constrained parent",
    "far",
    "rest",
    "current",
)


@pytest.mark.parametrize("kind", KINDS)
def test_poses_and_residuals_are_those_of_the_chain_with_each_solver_and_of_a_constraint(kind):
    rig = limb(kind)
    if kind == "far":
        bpy.context.scene.unit_settings.length_unit = "CENTIMETERS"
    results = compare_all(rig.ob)
    solutions = {
        name: (joints_of(row), row.residual, row.is_solved, row.status)
        for name, row in results.items()
    }
    assert solutions["Follow"][3].startswith("One drag from the present pose")
    if kind == "far":
        gap, *_ = figures(bpy.context, results["Newton"])
        assert gap.endswith(" cm")
        assert solutions["Newton"][3].startswith(f"Out of reach by {gap}: extended")
    for name, row in results.items():
        gap, count, time = figures(bpy.context, row)
        if row.is_solved:
            assert gap.endswith("m")
            assert time.endswith(" ms")
            assert 0.0 <= row.milliseconds < 1e4
            assert (count == "") == (name == BUILT_IN) == (row.iterations < 0)
        else:
            assert (gap, count, time) == ("", "", "")
            assert (row.residual, row.milliseconds, row.iterations) == (-1.0, -1.0, -1)

    def assert_is_shown(name: str) -> None:
        joints, residual = solutions[name][:2]
        assert rig.max_gap(joints) <= JOINT_TOLERANCE, name
        shown = math.dist(rig.joints()[-1], rig.target.matrix_world.translation)
        assert residual == pytest.approx(shown, abs=JOINT_TOLERANCE * rig.length)

    for name, (solver, use_finish) in SETTINGS.items():
        rigs.change(rig.chain, solver="NEWTON", use_finish=True, mute=kind == "current")
        rigs.change(rig.chain, solver=solver, use_finish=use_finish, mute=False)
        is_solved, status = solutions[name][2:]
        assert status.endswith(rig.chain.status)
        assert is_solved == (rig.chain.residual >= 0.0) == (kind == "arm" or name != "Two-Bone")
        if is_solved:
            assert_is_shown(name)
    rig.chain.solver, rig.chain.use_finish = "NEWTON", True
    _, residual, is_solved, status = solutions[BUILT_IN]
    assert is_solved
    has_distance = status.endswith(" left; the constraint gives no reason")
    assert has_distance == (residual > 1e-5) == (status != "Reached")
    to_constraints(rig.ob)
    assert rig.constraint.target == rig.target
    assert_is_shown(BUILT_IN)


def make_tree() -> tuple[bpy.types.Object, bpy.types.PropertyGroup]:
    """Return a rig with two chains that share two bones, and its first chain, which is active."""
    rig = tree_rigs.make_y().follow(solver="NEWTON")
    for name, side in (("Left", -1.0), ("Right", 1.0)):
        rig.target(name).location += rigs.Vector((0.2 * side, -0.3, -0.3))
    rigs.change(rig.ob.chain_ik, active_index=0)
    return rig.ob, rig.chain("Left")


def test_solvers_of_trees_solve_all_chains_of_a_tree_and_the_others_say_that_they_cannot():
    ob, chain = make_tree()
    results = {
        name: (row.is_solved, row.status, joints_of(row), row.residual)
        for name, row in compare_all(ob).items()
    }
    for name, (solver, use_finish) in SETTINGS.items():
        rigs.change(chain, solver=solver, use_finish=use_finish)
        is_solved, status, joints, residual = results[name]
        assert is_solved == (solver in ("NEWTON", "FABRIK")) == bool(len(joints))
        # If chains cannot be solved together, only the first one of the list is solved.
        other = ob.chain_ik.chains[1]
        assert status in {
            chain.status,
            f"With this solver, chain '{other.name}' is not solved: {other.status}",
        }
        if is_solved:
            np.testing.assert_allclose(joints[-1], rigs.tail(ob, chain.bone), atol=5e-5)
            assert residual == pytest.approx(chain.residual, abs=5e-5)
    assert results[BUILT_IN][0]


def everything(ob: bpy.types.Object) -> dict[str, object]:
    kinds = ("objects", "armatures", "scenes", "actions", "collections", "worlds", "meshes")
    return {
        **state(),
        "data": {kind: sorted(getattr(bpy.data, kind).keys()) for kind in kinds},
        "keys": rigs.keys_of(ob),
        "chains as stored": [sorted(chain.keys()) for chain in ob.chain_ik.chains]
        if bpy.app.version < (5, 0, 0)
        else [sorted(chain.bl_system_properties_get().keys()) for chain in ob.chain_ik.chains],
        "said": [(chain.status, chain.residual) for chain in ob.chain_ik.chains],
        "stored": [chain.stored_pose for chain in ob.chain_ik.chains],
        "scene": bpy.context.scene.name,
        "graphs": len(live.memory.graphs),
    }


def test_each_step_is_a_solver_and_changes_nothing_nor_do_the_next_updates():
    ob, _ = make_tree()
    rigs.add_bones(ob, rigs.zigzag(3, seed=5) + np.array([4, 0, 0]), prefix="Free")
    tail, _ = rigs.follow(ob, "Free.2", (4.5, 0.5, 2.0), empty="Tail", solver="FOLLOW", name="Tail")
    free = ob.pose.bones["Free.0"]
    other = rigs.make_rig(name="Other")
    for frame in (1, 10):
        rigs.key_rotations(other, frame, ["Bone.0"])
    rigs.updated()
    tail.location.x += 0.7
    # This pose by hand differs from the keyed one.
    rigs.change(other.pose.bones["Bone.0"], rotation_quaternion=(0.8, 0.6, 0.0, 0.0))
    for index in range(3):
        ob.chain_ik.active_index = index
        select_objects(active=ob)
        before, cancelled = everything(ob), in_steps(ob.chain_ik.chains[index])
        for _ in range(4):
            next(cancelled)
        cancelled.close()
        assert everything(ob) == before
        work = in_steps(ob.chain_ik.chains[index])
        for count in range(len(CONTENDERS)):
            assert next(work) == count
            assert everything(ob) == before
        with pytest.raises(StopIteration) as done:
            next(work)
        assert everything(ob) == before
        attempts = done.value.value
        assert len(attempts) == len(CONTENDERS)
        assert sum(len(attempt.joints) > 0 for attempt in attempts) >= 3
        rigs.tagged(ob)
        assert everything(ob) == before
    assert free.name in ob.pose.bones


def test_solvers_of_a_chain_that_was_dragged_away_start_where_its_root_was():
    rig = Limb(3, count=4, reach=(0.5, 0.8), use_pole=False)
    home = rig.joints()[0]
    rig.add_chain(solver="FOLLOW")
    rig.target.location += rig.target.location.normalized() * rig.length
    rigs.updated()
    assert math.dist(rig.joints()[0], home) > 0.1
    results = {name: (row.is_solved, joints_of(row)) for name, row in compare_all(rig.ob).items()}
    for name in ("Newton", "FABRIK", "CCD", BUILT_IN):
        is_solved, joints = results[name]
        assert is_solved
        np.testing.assert_allclose(joints[0], home, atol=1e-5, err_msg=name)
    rigs.change(rig.chain, solver="NEWTON")
    assert rig.max_gap(results["Newton"][1]) <= 5e-5
    assert rig.max_gap(results["Follow"][1]) > 0.05


REFUSALS = [
    (
        "chain",
        "influence",
        0.0,
        "Influence is zero, so no solver would move the bones: raise it first.",
    ),
    ("chain", "target", None, "No target is set: choose an object for the chain to follow."),
    ("chain", "bone", "Gone", "Bone 'Gone' no longer exists: choose another tip."),
    (
        *("data", "pose_position", "REST"),
        "The armature shows its rest position: switch it to Pose Position first.",
    ),
    (
        *("rig", "scale", (0.0, 0.0, 0.0)),
        "The armature object has a scale of zero: give it a scale above zero.",
    ),
    (
        *("rig", "rotation_euler", (math.nan, 0.0, 0.0)),
        "The transform of armature 'Rig' is not finite or too large: check its location, rotation,"
        " scale, parents, drivers and constraints.",
    ),
    (
        *("rig", "hide_viewport", True),
        "The armature is hidden, or not in this view layer: show it first.",
    ),
]


def test_if_no_solver_can_work_one_sentence_says_what_to_do():
    rig = limb("arm")
    compare_all(rig.ob)
    before = [(row.name, row.status) for row in rows().values()]
    for part, name, value, sentence in REFUSALS:
        owner = {"chain": rig.chain, "data": rig.ob.data, "rig": rig.ob}[part]
        with rigs.changed(owner, **{name: value}):
            assert refusal(compare) == sentence
    rigs.enter(rig.ob, "EDIT")
    assert refusal(compare) == "Leave edit mode: chains work on the pose."
    # The earlier results stay.
    assert [(row.name, row.status) for row in rows().values()] == before
    assert len(bpy.data.scenes) == 1


def test_a_constraint_says_what_it_cannot_do_and_all_solvers_report_a_bone_without_length():
    rig = limb("limited")
    rig.chain.use_limits = False
    results = compare_all(rig.ob)
    expected = "IK constraints always use the limits of bones: switch Limits on first."
    assert results[BUILT_IN].status == expected
    assert not results[BUILT_IN].is_solved
    assert results["Newton"].is_solved
    rig.chain.use_limits, root = True, rig.ob.pose.bones[rig.bones[0]]
    rigs.change(root, scale=(0.0, 0.0, 0.0))
    for name, row in compare_all(rig.ob).items():
        assert row.status.startswith(f"Bone '{root.name}' has a length of zero"), name


def test_stretch_grows_the_bones_of_each_solver_and_of_the_constraint():
    rig = limb("tail")
    for name in rig.bones:
        rig.ob.pose.bones[name].ik_stretch = 0.5
    rig.chain.use_stretch = True
    rig.target.location += 0.9 * (rig.target.location - rig.ob.location)
    rigs.updated()
    results = compare_all(rig.ob)
    joints = joints_of(results["Newton"]), joints_of(results[BUILT_IN])
    assert rig.max_gap(joints[0]) <= JOINT_TOLERANCE
    to_constraints(rig.ob)
    # Bones that grow take the constraint more steps than it has digits for.
    assert rig.max_gap(joints[1]) <= CONSTRAINT_TOLERANCE


def test_a_rig_from_a_library_is_compared_through_its_override(tmp_path):
    rig = limb("tail")
    before = rig.joints()
    library_rig, *_ = linked(tmp_path / "library.blend", "Rig", "Rig Target", "Rig Pole")
    select_objects(active=library_rig)
    expected = "This armature is linked: make a library override of it first."
    assert refusal(compare) == expected
    local = library_rig.override_create(remap_local_usages=True)
    select_objects(active=local)
    rigs.updated()
    overridden = [prop.rna_path for prop in local.override_library.properties]
    results = compare_all(local)
    assert all(results[name].is_solved for name in ("Newton", "FABRIK", "CCD", BUILT_IN))
    np.testing.assert_allclose(joints_of(results["Newton"]), before, atol=1e-5)
    assert [prop.rna_path for prop in local.override_library.properties] == overridden


@pytest.mark.slow
def test_in_a_whole_body_ghosts_are_where_the_body_carries_the_limb(rigify):
    ob = opened(bodies.make_body)
    bodies.move(ob, "Arm Target.L", bodies.AWAY)
    chain = ob.chain_ik.chains["Arm.L"]
    rigs.change(ob.chain_ik, active_index=ob.chain_ik.chains.find("Arm.L"))
    results = {name: (row.is_solved, joints_of(row)) for name, row in compare_all(ob).items()}
    assert results["Newton"][0]
    for name, (solver, use_finish) in SETTINGS.items():
        rigs.change(chain, solver=solver, use_finish=use_finish)
        is_solved, joints = results[name]
        # Force and Follow do not move the body, and it does not take such chains as limbs.
        if name not in ("Force", "Follow") and is_solved:
            shown = [rigs.tail(ob, bone) for bone in ("upper_arm.L", chain.bone)]
            np.testing.assert_allclose(joints[[1, -1]], shown, atol=5e-5, err_msg=name)
