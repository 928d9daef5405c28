"""Results of a comparison: ghosts, rows and the button Use; interrupted and outdated runs."""

import warnings
from collections.abc import Callable
from itertools import pairwise

import bpy
import gpu
import numpy as np
import pytest

from blender_ik_addon.core.model.message import Message
from blender_ik_addon.operators.bake import POSE_OT_chain_ik_bake
from blender_ik_addon.operators.compare import POSE_OT_chain_ik_compare
from blender_ik_addon.overlay import ghosts, viewport, viewport_labels
from blender_ik_addon.overlay.ghosts import gather_ghosts
from blender_ik_addon.overlay.strokes import Strokes
from blender_ik_addon.rig.comparing.comparing import CONTENDERS
from blender_ik_addon.rig.reading.refusals import RigError
from blender_ik_addon.translations import translate_into
from tests.blender.compare import compared_rigs
from tests.blender.compare.compared_rigs import compare_all, joints_of, limb
from tests.blender.keying.converted_rigs import Limb
from tests.blender.overlay.viewports import Pixels, around_point, draw, in_viewport, needs_gpu
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import make_limbs
from tests.blender.setups.selecting import press, refusal, select_bones


def test_use_sets_the_solver_of_the_compared_chain_and_undo_reverts_only_that():
    rig = compared_rigs.limb("tail")
    bpy.ops.ed.undo_push(message="Before")
    place = rig.target.location.z
    rigs.shift(rig.target, z=0.3)
    bpy.ops.ed.undo_push(message="Moved")
    compared_rigs.compare_all(rig.ob)
    # A comparison adds no undo step.
    bpy.ops.ed.undo()
    assert bpy.data.objects["Rig Target"].location.z == pytest.approx(place)
    compared_rigs.compare_all(bpy.data.objects["Rig"])
    names = [*compared_rigs.rows()]
    bpy.ops.ed.undo_push(message="Compared")
    for name in ("CCD", "FABRIK and Newton", "Follow"):
        press(compared_rigs.use, index=names.index(name))
        chain = bpy.data.objects["Rig"].chain_ik.chains[0]
        solver, use_finish = compared_rigs.SETTINGS[name]
        assert chain.solver == solver
        if solver in ("CCD", "FABRIK"):
            assert chain.use_finish == use_finish
        bpy.ops.ed.undo()
        assert bpy.data.objects["Rig"].chain_ik.chains[0].solver == "NEWTON"
    expected = (
        "Blender's IK constraint is not a solver of chains: press Convert Chains to replace the"
        " chain with it."
    )
    assert refusal(compared_rigs.use, index=names.index(compared_rigs.BUILT_IN)) == expected


NOT_COMPARED = "There is no comparison: press Compare Solvers first."


def test_a_comparison_ends_with_its_file_with_its_chain_and_by_its_button(tmp_path):
    assert refusal(compared_rigs.use) == NOT_COMPARED
    rig = compared_rigs.limb("arm")
    select_bones(rig.ob, rig.bones)
    for name in ("FABRIK", "FABRIK and Newton"):
        rig.chain.solver, rig.chain.use_finish = compared_rigs.SETTINGS[name]
        rigs.updated()
        press(compared_rigs.compare)
        assert bpy.context.mode == "POSE"
        assert [*compared_rigs.rows()][bpy.context.window_manager.chain_ik.active_index] == name
    path = str(tmp_path / "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    # A file loaded without its windows keeps the present window manager.
    for load_ui in (False, True):
        assert compared_rigs.rows()
        bpy.ops.wm.open_mainfile(filepath=path, load_ui=load_ui)
        assert not compared_rigs.rows()
        assert not bpy.context.window_manager.chain_ik.mark
        press(compared_rigs.compare)
    bpy.ops.pose.chain_ik_compare_clear()
    assert not compared_rigs.rows()
    assert refusal(bpy.ops.pose.chain_ik_compare_clear) == NOT_COMPARED
    press(compared_rigs.compare)
    bpy.ops.pose.chain_ik_remove()
    assert refusal(compared_rigs.use) == NOT_COMPARED


@pytest.mark.parametrize(
    "how", ["as it was", "renamed", "removed", "moved", "another in its place"]
)
def test_use_finds_its_chain_among_namesakes_under_other_names_and_in_other_places(how):
    ob = make_limbs("Rig", "Bone", "Left", "Right")
    chains = list(ob.chain_ik.chains)
    rigs.set_each(chains, name="Chain", solver="NEWTON")
    rigs.updated()
    ob.chain_ik.active_index = 1
    compared_rigs.compare_all(ob)
    if how == "renamed":
        chains[1].name, chains[0].name, ob.name = "Other", "Chain", "Another Rig"
    elif how == "removed":
        ob.chain_ik.active_index = 0
        bpy.ops.pose.chain_ik_remove()
    elif how == "moved":
        ob.chain_ik.chains.move(1, 2)
    elif how == "another in its place":
        # The same bones, but another target: not the same chain.
        rigs.change(chains[2], bone="Left.1")
        ob.chain_ik.active_index = 1
        bpy.ops.pose.chain_ik_remove()
        assert refusal(compared_rigs.use, index=5) == NOT_COMPARED
        return
    press(compared_rigs.use, index=[*compared_rigs.rows()].index("CCD"))
    solvers = {chain.bone: chain.solver for chain in ob.chain_ik.chains}
    assert [bone for bone, solver in solvers.items() if solver == "CCD"] == ["Left.1"]


def limit_bone(rig: Limb) -> None:
    bone = rig.ob.pose.bones[rig.bones[1]]
    bone.use_ik_limit_x, bone.ik_max_x = True, 0.1


EDIT_MODE = "edit mode"
CHANGES: dict[str, Callable[[Limb], object]] = {
    "target": lambda rig: setattr(rig.target.location, "x", 3.0),
    "pose": lambda rig: setattr(rig.ob.pose.bones["Root.0"].scale, "x", 1.5),
    "name": lambda rig: setattr(rig.ob.pose.bones[rig.bones[1]], "name", "Other"),
    "limit": limit_bone,
    "setting": lambda rig: setattr(rig.chain, "pole_angle", rig.chain.pole_angle + 1.0),
    "frame": lambda _: bpy.context.scene.frame_set(7),
    "no chain": lambda rig: rig.ob.chain_ik.chains.remove(0),
    "no rig": lambda rig: bpy.data.objects.remove(rig.ob),
    "undo": lambda _: bpy.ops.ed.undo(),
    "load": lambda _: bpy.ops.wm.read_homefile(use_empty=True),
    EDIT_MODE: lambda rig: rigs.enter(rig.ob, "EDIT"),
}


@pytest.mark.every_case
@pytest.mark.parametrize("what", CHANGES)
def test_a_comparison_is_refused_if_its_inputs_change_meanwhile(what: str) -> None:
    bpy.ops.ed.undo_push(message="empty")
    rig = compared_rigs.limb("tail")
    bpy.ops.ed.undo_push(message="made")
    work = compared_rigs.in_steps(rig.chain)
    next(work)
    next(work)
    CHANGES[what](rig)
    sentence = "has changed during the comparison: compare again"
    with pytest.raises(RigError, match="Leave edit mode" if what == EDIT_MODE else sentence):
        next(work)
    assert len(bpy.data.scenes) == 1


def test_a_comparison_survives_renames_and_the_undo_of_other_changes() -> None:
    rig = compared_rigs.limb("tail")
    bpy.ops.ed.undo_push(message="made")
    rigs.make_empty("Aside")
    bpy.ops.ed.undo_push(message="aside")
    work = compared_rigs.in_steps(rig.chain)
    next(work)
    bpy.data.objects["Rig"].name = "Another"
    next(work)
    bpy.data.objects["Another"].name = "Rig"
    bpy.ops.ed.undo()
    for _ in CONTENDERS[2:]:
        next(work)
    with pytest.raises(StopIteration) as done:
        next(work)
    assert sum(len(attempt.joints) > 0 for attempt in done.value.value) == len(CONTENDERS) - 1


def test_the_status_bar_counts_what_is_done() -> None:
    solver = POSE_OT_chain_ik_compare.progress(None, 3, 9)
    assert solver == "solver 3 of 9"
    assert POSE_OT_chain_ik_bake.progress(None, 3, 50) == "frame 3 of 50"
    template = "{label}  |  Esc: stop  |  {progress}"
    text = Message(template, label=Message("Compare Solvers"), progress=solver)
    text = translate_into(text, "pt_BR")
    assert text == "Comparar solucionadores  |  Esc: parar  |  solucionador 3 de 9"


def drawn_ghosts() -> Strokes:
    return gather_ghosts(bpy.context) or Strokes()


def names() -> list[str]:
    return [word.text for word in drawn_ghosts().words]


def test_each_solved_pose_is_drawn_in_a_separate_colour_and_the_chosen_one_is_marked():
    rig = limb("tail")
    assert gather_ghosts(bpy.context) is None
    rows = compare_all(rig.ob)
    solved = [name for name, row in rows.items() if row.is_solved]
    assert "Two-Bone" not in solved
    bpy.context.window_manager.chain_ik.active_index = [*rows].index("CCD")
    shown = drawn_ghosts()
    assert names() == solved
    colours = {word.text: word.colour for word in shown.words}
    assert len({*colours.values()}) == len(solved)
    joints = {name: joints_of(rows[name]).astype(np.float32) for name in solved}
    for word in shown.words:
        assert word.place == tuple(joints[word.text][-1])
    # The chosen one is wide, and drawn over the others.
    ordered = sorted(solved, key="CCD".__eq__)
    assert shown.dots.colours == [colours[name] for name in ordered]
    assert shown.thin.colours + shown.thick.colours == shown.dots.colours
    assert shown.thick.colours == [colours["CCD"]]
    lines = [*shown.thin.points, *shown.thick.points]
    for name, dots, ends in zip(ordered, shown.dots.points, lines, strict=True):
        np.testing.assert_array_equal(dots, joints[name])
        np.testing.assert_array_equal(ends.reshape(-1, 2, 3), [*pairwise(joints[name])])
    np.testing.assert_allclose(joints["Newton"], rig.joints(), atol=1e-5)


def test_ghosts_stay_whatever_chain_and_armature_are_called_until_they_are_switched_off():
    ob, _ = rigs.make_arm()
    compare_all(ob)
    before = len(names())
    ob.chain_ik.chains[0].name, ob.name = "Other", "Another Rig"
    assert len(names()) == before > 0
    with in_viewport():
        bpy.context.space_data.overlay.show_overlays = False
        assert not names()
    settings = bpy.context.window_manager.chain_ik
    settings.show_ghosts = False
    assert not names()
    settings.show_ghosts = True
    assert len(names()) == before
    bpy.ops.pose.chain_ik_compare_clear()
    assert not names()


def test_names_of_ghosts_are_translated_like_those_in_the_table(monkeypatch):
    compare_all(rigs.make_arm()[0])
    monkeypatch.setattr(ghosts, "translate", lambda text: translate_into(text, "pt_BR"))
    assert "FABRIK e Newton" in names()


def pixels(
    in_scene: Callable[[], None] = viewport.draw_ghosts_in_scene,
    on_screen: Callable[[], None] = viewport.draw_ghosts_on_screen,
) -> Pixels:
    """Return the drawn pixels of ghosts; a deprecation warning of Blender fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image, states = draw(in_scene, on_screen)
    assert states == [("NONE", "NONE")] * 2
    return image


@needs_gpu
def test_lines_are_drawn_between_joints_and_dots_at_joints():
    gpu.init()
    # Other ghosts overlap it in places.
    for row in (row for name, row in compare_all(limb("tail").ob).items() if name != "Newton"):
        row.joints.clear()
    with in_viewport():
        drawn = drawn_ghosts().dots
        (joints,), colour = drawn.points, np.array(drawn.colours[0][:3])
        lines, dots = pixels(on_screen=lambda: None), pixels(in_scene=lambda: None)
        for i, (start, end) in enumerate(pairwise(joints)):
            for image, point in ((lines, 0.5 * (start + end)), (dots, start)):
                # The pixels inside the edge of a dot.
                around = around_point(image, point)[1:4, 1:4]
                best = around[around[..., 3] == around[..., 3].max()][0]
                assert best[3] > 0.5, i
                # Brighter where the colour is brighter.
                assert (best[:3].argsort() == colour.argsort()).all(), i
        bpy.context.space_data.overlay.show_overlays = False
        assert not pixels().any()


def test_names_that_would_overlap_are_placed_below_each_other():
    places = [(10.0, 50.0), (12.0, 50.3), (11.0, 49.9), (400.0, 50.0), (10.0, 20.0)]
    texts = [
        (name, (1.0, 1.0, 1.0, 1.0), *place) for name, place in zip("ABCDE", places, strict=True)
    ]
    placed = viewport_labels.spread(texts, 16.0)
    assert [text for text, *_ in placed] == [*"ABCDE"]
    spread = [(x, y) for *_, x, y in placed]
    assert spread[0] == places[0]
    assert spread[3] == places[3]
    assert [x for x, _ in spread] == [x for x, _ in places]
    for i, (x, y) in enumerate(spread):
        for a, b in spread[:i]:
            assert abs(x - a) > 100.0 or abs(y - b) >= 16.0
    column = sorted([y for x, y in spread if x < 100.0], reverse=True)
    assert np.allclose(-np.diff(column), 16.0, atol=0.5), "no gaps"
