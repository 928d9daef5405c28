"""Compare in steps, as a window does it: given up, disturbed, and no longer than needed."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import bpy
import pytest

from blender_ik_addon.operators.bake import POSE_OT_chain_ik_bake
from blender_ik_addon.operators.compare import POSE_OT_chain_ik_compare
from blender_ik_addon.properties import COMPARED, compare_solvers, mark_of
from blender_ik_addon.rig.comparing.timing import ENOUGH, REPEATS, quickest
from blender_ik_addon.rig.reading.refusals import RigError
from blender_ik_addon.translations import translated
from tests.blender.compare.compared_rigs import compared, limb, rows
from tests.blender.compare.test_compare import everything
from tests.blender.keying.converted_rigs import Limb
from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.selecting import select_objects

Steps = Generator[int, None, Any]


def in_steps(rig: Limb) -> Steps:
    """Return the steps of a comparison, as a window does them."""
    select_objects(active=rig.ob)
    return compare_solvers(mark_of(rig.chain), bpy.context.evaluated_depsgraph_get)


@pytest.mark.parametrize("kind", ["tail", "constrained parent", "scaled"])
def test_each_step_is_a_solver_and_leaves_nothing_in_the_file(kind: str) -> None:
    rig = limb(kind)
    select_objects(active=rig.ob)
    before = everything(rig.ob)
    work, count = in_steps(rig), 0
    while True:
        try:
            assert next(work) == count
        except StopIteration as done:
            found = done.value
            break
        count += 1
        assert everything(rig.ob) == before
    assert everything(rig.ob) == before
    assert len(found) == COMPARED == count + 1


@pytest.mark.parametrize("solver", ["NEWTON", "FOLLOW"])
@pytest.mark.parametrize("steps", [1, 4, COMPARED - 1])
def test_a_comparison_that_is_given_up_leaves_everything_as_it_was(solver: str, steps: int) -> None:
    rig = limb("tail")
    rig.chain.solver = solver
    scaled_rigs.update()
    compared(rig.ob)
    shown, before = {name: row.gap for name, row in rows().items()}, everything(rig.ob)
    work = in_steps(rig)
    for _ in range(steps):
        next(work)
    work.close()
    assert everything(rig.ob) == before
    rig.ob.update_tag()
    scaled_rigs.update()
    assert everything(rig.ob) == before
    assert {name: row.gap for name, row in rows().items()} == shown


def move_target(rig: Limb) -> None:
    rig.target.location.x += 0.3


def pose_bone(rig: Limb) -> None:
    rig.ob.pose.bones["Root.0"].scale.x = 1.5


def rename_bone(rig: Limb) -> None:
    rig.ob.pose.bones[rig.bones[1]].name = "Other"


def limit_bone(rig: Limb) -> None:
    bone = rig.ob.pose.bones[rig.bones[1]]
    bone.use_ik_limit_x, bone.ik_max_x = True, 0.1


def change_setting(rig: Limb) -> None:
    rig.chain.pole_angle += 1.0


def change_frame(_rig: Limb) -> None:
    bpy.context.scene.frame_set(7)


def remove_chain(rig: Limb) -> None:
    rig.ob.chain_ik.chains.remove(0)


def remove(rig: Limb) -> None:
    bpy.data.objects.remove(rig.ob)


def undo(_rig: Limb) -> None:
    bpy.ops.ed.undo()


def load(_rig: Limb) -> None:
    bpy.ops.wm.read_homefile(use_empty=True)


CHANGES = (
    *(move_target, pose_bone, rename_bone, limit_bone, change_setting, change_frame),
    *(remove_chain, remove, undo, load),
)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("steps", [2, COMPARED - 1])
def test_a_comparison_of_what_has_changed_meanwhile_is_refused(
    change: Callable[[Limb], None], steps: int
) -> None:
    bpy.ops.ed.undo_push(message="empty")
    rig = limb("tail")
    bpy.ops.ed.undo_push(message="made")
    work = in_steps(rig)
    for _ in range(steps):
        next(work)
    change(rig)
    with pytest.raises(RigError, match="has changed during the comparison: compare again"):
        next(work)
    assert len(bpy.data.scenes) == 1


def test_edit_mode_meanwhile_is_told() -> None:
    rig = limb("tail")
    work = in_steps(rig)
    next(work)
    rigs.enter(rig.ob, "EDIT")
    with pytest.raises(RigError, match="Leave edit mode"):
        next(work)


def test_names_and_the_undo_of_something_else_do_no_harm() -> None:
    rig = limb("tail")
    bpy.ops.ed.undo_push(message="made")
    rigs.make_empty("Aside")
    bpy.ops.ed.undo_push(message="aside")
    work = in_steps(rig)
    next(work)
    bpy.data.objects["Rig"].name = "Another"
    next(work)
    bpy.data.objects["Another"].name = "Rig"
    bpy.ops.ed.undo()
    for _ in range(COMPARED - 3):
        next(work)
    with pytest.raises(StopIteration) as done:
        next(work)
    assert sum(attempt.is_solved for attempt in done.value.value) == COMPARED - 1


def seconds_asked_for(first: float, each: float) -> list[float]:
    """Return what was timed again where each time takes so long."""
    asked: list[float] = []

    def again() -> float:
        asked.append(each)
        return each

    assert quickest(first, again) == min([first, *asked])
    return asked


def test_what_is_timed_is_done_again_only_while_that_is_cheap() -> None:
    assert len(seconds_asked_for(1e-4, 9e-5)) == REPEATS
    assert not seconds_asked_for(1.01 * ENOUGH, 1e-3)
    assert len(seconds_asked_for(0.6 * ENOUGH, 0.5 * ENOUGH)) == 1


def test_the_status_bar_counts_what_is_done() -> None:
    solver = POSE_OT_chain_ik_compare.progress(None, 3, COMPARED)
    assert solver == f"solver 3 of {COMPARED}"
    assert POSE_OT_chain_ik_bake.progress(None, 3, 50) == "frame 3 of 50"
    text = translated(f"Compare Solvers  |  Esc: stop  |  {solver}", "pt_BR")
    assert text == f"Comparar solucionadores  |  Esc: parar  |  solucionador 3 de {COMPARED}"
