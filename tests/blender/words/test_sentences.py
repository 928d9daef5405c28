"""Everything that chains may say is said when its reason holds, and not without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blender_ik_addon.rig.anatomy.limb_chains import PRESETS
from blender_ik_addon.rig.controls.foot_roll import DESCRIPTIONS
from tests.blender.setups import rigs, tree_rigs
from tests.blender.words.said_of_bodies import BODIES
from tests.blender.words.said_of_input import INPUT
from tests.blender.words.said_of_joints import CREATURES, JOINTS
from tests.blender.words.said_of_solves import SOLVES, STATES
from tests.blender.words.said_of_trees import TREES
from tests.blender.words.sentences import PACKAGE, SOURCES, Said, is_made_of, templates, texts, told
from tests.helpers import make_rng

ROOT = Path(__file__).resolve().parents[3]
SAID = BODIES | INPUT | CREATURES | JOINTS | TREES | SOLVES | STATES
# What needs more than a change of a rig, or is said elsewhere than in the status: tests, and how
# their sentences begin.
ELSEWHERE = {
    "test_rig_bad_rigs.py::test_a_linked_armature_says_so": ("The armature is linked",),
    "test_rig_bad_rigs.py::test_nan_in_any_bones_location": (
        "The transform of bone '{}' is not finite",
    ),
    "test_rig_bad_input.py::test_bad_input_gives_its_sentence": (
        "The transform of the {} '{}' is not finite",
    ),
    "test_body_status.py::test_a_hand_out_of_reach": (
        "Held back by {} and {} (pinned): {}",
        "Held back by {} (pinned): {}",
        "Held back by {} (pinned), {}: {}",
    ),
    "test_only_finite.py::test_a_stored_pose_that_is_torn": (
        "The stored pose of this chain cannot be read",
    ),
    "test_objects_without_pose.py::test_a_chain_on_an_object_that_is_no_armature": (
        "this object is not an armature, so remove the chain",
    ),
    "test_clip_bake.py::test_what_cannot_be_bettered": (
        "Chain '{}' is baked frame by frame: {}.",
        "it goes on from its last pose",
        "what other chains follow hangs on its bones",
        "constraints or drivers move its bones as well",
        "other chains, which are not baked, share its bones",
        "it has more than {} bones",
        "its limits or locks are not the same at all frames",
        "bones below it are baked so",
        "it belongs to a whole body",
    ),
    "test_clip_bake.py::test_a_jump_that_joints_force": ("Chain '{}' still jumps at these frames",),
    "test_keys_follow_chains.py::test_keys_that_play_on_another_rig": (
        "The action '{}' animates '{}' as well",
    ),
    "test_twist_spread_kept.py::test_a_driven_twist_bone_is_told": (
        "Bone '{}' has a driver on its rotation, which always wins: remove the driver, or switch",
    ),
    "test_tree_panels.py::test_chains_that_share_bones_say_so": ("Solved together with {}",),
    "test_panels.py::test_limits_tell_how_many_bones_use_their_own": (
        "1 bone uses its own IK limits",
        "{} bones use their own IK limits",
    ),
    "test_tree_panels.py::test_goals_that_lost_are_told": ("{}: {} off",),
    "test_sentences.py::test_a_chain_that_is_new_waits": ("Not solved yet",),
    "test_many_graphs.py::test_a_rig_that_another_scene_has_posed": ("Not solved here",),
    "test_sentences.py::test_a_bone_of_another_rig": ("Bone '{}' of '{}' no longer exists",),
    "test_bake.py::test_bad_input_gives_one_clear_sentence": (
        "The start frame {} lies after",
        "Live is off, so no chain moves",
        "Chain '{}' moves nothing",
        "Chain '{}' cannot be baked",
        "The NLA blends the action",
    ),
    "test_bake_steps.py::test_a_bake_of_what_has_changed_meanwhile_is_refused": (
        "The armature has changed during the bake",
    ),
    "test_motion_paths.py::test_objects_that_have_changed_meanwhile_are_told": (
        "An object changed during the update",
    ),
    "test_motion_paths.py::test_the_sidebar_warns_of_paths": ("Motion paths are wrong",),
    "test_new_keys.py::test_keying_all_bones_of_a_long_chain": (
        "The chain starts from the keys of its bones",
    ),
    "test_bend_follows.py::test_a_pole_in_line_with_the_limb_is_told": (
        "The pole is nearly in line",
    ),
    "test_plant_refusals.py::test_what_cannot_be_planted_is_said_and_stays": (
        "Nothing moves in this range",
        "No foot and no hand stands",
        "A chain with the solver Follow stands nowhere",
        "This chain has no target",
        "Feet are planted in a clip of two frames",
        "Channels of the {} '{}' are locked",
        "The NLA of '{}' plays strips",
        "The transform of '{}' is not finite at frame {}",
    ),
    "test_plant_refusals.py::test_a_limb_too_short": ("Chain '{}' is too short for its contacts",),
    "test_plant_refusals.py::test_a_rig_that_has_changed_meanwhile": (
        "The armature has changed meanwhile",
    ),
    "test_convert_refusals.py::test_a_constraint_without_counterpart": (
        "This armature's IK Solver is iTaSC",
        "Chains have no Distance mode",
        "Chains need a position",
        "It has no iterations",
        "Chains follow in world space",
        "It names no bone of '{}'",
        "Chains do not follow a vertex group",
    ),
    "test_convert_refusals.py::test_of_several_constraints": ("Of several IK constraints",),
    "test_convert_refusals.py::test_a_chain_without_counterpart": (
        "IK constraints have no Force",
        "IK constraints have no joints",
        "Constraints always honour",
        "IK constraints have no bend that goes along",
        "IK constraints have no Flip Bend",
        "IK constraints do not turn '{}'",
        "IK constraints have no weight",
        "IK constraints reach with a head",
        "'{}' has an IK constraint already",
    ),
    "test_convert_refusals.py::test_no_constraint_drives": (
        "IK constraints move {} bones at most",
    ),
    "test_convert_refusals.py::test_in_an_override": ("It comes from a library",),
    "test_convert.py::test_long_chains_keep_their_tip": (
        "({}): the tip is the same, but the bends differ",
    ),
    "test_convert_looks.py::test_the_worst_difference": ("The difference is largest at frame",),
    "test_convert.py::test_where_the_constraint_stops_short": ("({}): the tip is {} off",),
    "test_convert_animation.py::test_keys_that_cannot_go_along": (
        "Its setting '{}' is animated",
        "Keys or drivers for '{}' are there",
        "Modifiers of the F-curve",
    ),
    "test_convert_animation.py::test_keys_of_a_pole_angle": ("Keys of its Pole Angle",),
    "test_operator_add_meaning.py::test_a_parent_that_is_not_there": (
        "Bone '{}' does not exist: choose another parent",
    ),
    "test_operator_add_meaning.py::test_a_parent_that_nothing_can_hang_under": (
        "Bone '{}' has a scale of zero, so controls cannot hang under it",
    ),
    "test_switch_space.py::test_the_status_tells_of_a_space_whose_bone_was_deleted": (
        "The space of '{}' no longer exists",
    ),
    "test_switch_space.py::test_spaces_that_make_a_ring": ("Space '{}' moves with '{}', or could",),
    "test_switch_space.py::test_a_control_with_a_parent": ("Control '{}' has the parent '{}'",),
    "test_switch_space.py::test_a_space_that_is_scaled_to_nothing": (
        "Space '{}' has a scale of zero",
    ),
    "test_put_back.py::test_a_key_that_auto_keying_has_set_is_told_of_where_it_is": (
        ". Auto Keying has keyed it",
    ),
    "test_refused.py::test_bones_of_a_refused_chain_that_go_back": ("This chain keeps {} as",),
    "test_bake.py::test_an_action_in_tweak_mode_is_refused": ("The NLA is in tweak mode",),
    "test_bake.py::test_a_linked_action_is_refused": ("The action '{}' is linked",),
    "test_compare.py::test_where_no_solver_has_a_chance": (
        "The armature shows its rest position: switch it",
        "The armature is hidden, or not in this view layer: show",
    ),
    "test_compare.py::test_what_cannot_solve_a_tree": ("Then chain '{}' stands still",),
    "test_compare.py::test_a_drag_is_one_from_the_present_pose": (
        "One drag from the present pose",
    ),
    "test_compare_steps.py::test_edit_mode_meanwhile_is_told": ("Leave edit mode",),
    "test_compare.py::test_the_constraint_shows": ("{} left; the constraint does not",),
    "test_placing.py::test_what_cannot_be_moved_is_refused": (
        "The location of the {} '{}' is locked",
        "Connected is on for bone '{}', so it cannot be moved",
    ),
    "test_held.py::test_what_a_constraint_holds_is_refused": (
        "Something else, such as a constraint, keeps the {} '{}' from going there",
    ),
    "test_placing.py::test_a_linked_target_is_refused": (
        "The {} '{}' is linked: make a library override",
        "The library override of the {} '{}' cannot be edited",
    ),
    "test_pole_dial.py::test_a_chain_whose_ends_meet": ("The root and the end of what bends",),
}
BEGINNINGS = tuple(begin for begins in ELSEWHERE.values() for begin in begins)
# Targets that are hidden get an anchor before this could be said: test_hidden_targets.py.
NEVER_SAID = (
    "The {} '{}' is hidden, so Blender does not evaluate it",
    # What is not solved has a sentence of its own, which a comparison tells.
    "This chain is not solved: its status",
)
NO_SENTENCES = {
    "Chain IK Anchor",
    "Chain IK Space",
    "Chain IK Compare",
    "Chain IK Controls",
    "Chain IK Mechanism",
    "WGT-Chain IK {}",
}
# What is written to the console.
NO_SENTENCES |= {"'%s', chain '%s': %s"}
# Tooltips of properties that bones get.
NO_SENTENCES |= set(DESCRIPTIONS.values())
NO_SENTENCES |= {preset.word for preset in PRESETS.values()}


@pytest.mark.parametrize("case", SAID.values(), ids=SAID.keys())
def test_a_sentence_is_said_when_its_reason_holds_and_not_without(case: Said):
    scene = case.makes()
    case.prepares(scene)
    rigs.updated()
    assert case.sentence not in told(case.who(scene).status)
    case.breaks(scene)
    rigs.updated()
    assert told(case.who(scene).status) == case.sentence
    case.mends(scene)
    rigs.updated()
    assert case.sentence not in told(case.who(scene).status)
    assert case.who(scene).status.startswith("Reached"), case.who(scene).status


def test_a_chain_that_is_new_waits_for_the_next_update():
    ob = rigs.make_rig()
    target = rigs.make_empty()
    rigs.updated()
    chain = rigs.add_chain(ob, "Bone.1", target)
    assert chain.status == "Not solved yet: move the target, or change the frame"
    rigs.updated()
    assert chain.status.startswith("Reached"), chain.status


def test_a_bone_of_another_rig_that_is_gone_is_named_until_it_is_there_again():
    ob, _ = rigs.make_arm()
    other = rigs.make_rig(name="Other")
    chain = ob.chain_ik.chains[0]
    chain.target, chain.subtarget = other, "Bone.1"
    rigs.updated()
    assert chain.status.startswith("Reached"), chain.status
    # As in a chain of a file from before there was a record of bones.
    ob.chain_ik.seen_bones = ""
    other.data.bones["Bone.1"].name = "Gone"
    rigs.updated()
    assert chain.status == (
        "Bone 'Bone.1' of 'Other' no longer exists: choose another bone for the chain to follow."
    )
    other.data.bones["Gone"].name = "Bone.1"
    rigs.updated()
    assert chain.status.startswith("Reached"), chain.status


LIMITS = "limit|lock|joint"


@pytest.mark.slow
@pytest.mark.parametrize("use_rotation", [False, True])
@pytest.mark.parametrize("solver", ["FABRIK", "CCD", "NEWTON", "FORCE"])
def test_chains_without_limits_and_locks_never_speak_of_them(solver, use_rotation):
    rng = make_rng(5)
    ob = rigs.make_rig(rigs.zigzag(3))
    target = rigs.make_empty()
    chain = rigs.add_chain(ob, "Bone.2", target, solver=solver, use_rotation=use_rotation)
    said = set()
    for stiffness in (0.0, 0.6):
        for bone in ob.pose.bones:
            bone.ik_stiffness_x = stiffness
        for _ in range(6):
            target.location = rng.uniform(-2.5, 2.5, 3)
            target.rotation_euler = rng.uniform(-3.0, 3.0, 3)
            rigs.updated()
            said.add(told(chain.status).split(":")[0])
            assert not re.search(LIMITS, chain.status), chain.status
    assert len(said) > 1, said


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["FABRIK", "CCD", "NEWTON", "FORCE"])
def test_limits_that_are_switched_off_are_not_spoken_of(solver):
    rng = make_rng(6)
    ob = rigs.make_rig(rigs.zigzag(3))
    for bone in ob.pose.bones:
        bone.use_ik_limit_x = bone.lock_ik_y = bone.lock_ik_z = True
        bone.ik_min_x, bone.ik_max_x = -0.1, 0.1
    target = rigs.make_empty()
    chain = rigs.add_chain(ob, "Bone.2", target, solver=solver, use_rotation=True)
    for _ in range(4):
        target.location = rng.uniform(-1.5, 1.5, 3)
        chain.use_limits = True
        rigs.updated()
        assert re.search(LIMITS, chain.status), chain.status
        chain.use_limits = False
        rigs.updated()
        assert not re.search(LIMITS, chain.status), chain.status


@pytest.mark.parametrize("solver", tree_rigs.SOLVERS)
def test_trees_without_limits_and_locks_never_speak_of_them(solver):
    rng = make_rng(7)
    rig = tree_rigs.make_y()
    rig.follow(solver=solver, use_rotation=True)
    for _ in range(8):
        for name in rig.tips:
            rig.target(name).location = rng.uniform(-1.5, 1.5, 3)
            rig.target(name).rotation_euler = rng.uniform(-3.0, 3.0, 3)
        rigs.updated()
        for name in rig.tips:
            assert not re.search(LIMITS, rig.chain(name).status), rig.chain(name).status


def test_what_the_eye_hides_is_solved():
    ob, _ = rigs.make_arm()
    ob.hide_set(True)
    rigs.updated()
    assert ob.chain_ik.chains[0].status.startswith("Reached")


def test_no_sentence_is_without_a_test():
    said = [case.sentence for case in SAID.values()]
    untested = {
        template: place
        for template, place in templates().items()
        if template not in NO_SENTENCES
        and not template.startswith((*BEGINNINGS, *NEVER_SAID))
        and not any(is_made_of(sentence, template) for sentence in said)
    }
    assert not untested, "add them to one of the tables said_of_*.py"


@pytest.mark.parametrize("begin", [*BEGINNINGS, *NEVER_SAID])
def test_what_is_tested_elsewhere_can_still_be_said(begin):
    assert any(template.startswith(begin) for template in templates())


@pytest.mark.parametrize("test", ELSEWHERE)
def test_tests_that_stand_elsewhere_are_there(test):
    file, name = test.split("::")
    (path,) = (ROOT / "tests" / "blender").rglob(file)
    assert f"def {name}" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_texts_use_the_words_of_the_menus():
    """Not the identifiers that scripts use, such as NEWTON or TWO_BONE."""
    files = [path for path in PACKAGE.rglob("*.py") if "core" not in path.parts] + list(SOURCES)
    wrong = {
        text: path.name
        for path in files
        for text in texts(path.read_text(encoding="utf-8"))
        if set(re.findall(r"\b[A-Z]{2}[A-Z_]*\b", text))
        - {*"FK IK FABRIK CCD NLA JSON MB WGT".split()}
    }
    assert not wrong


@pytest.mark.parametrize(
    "file", ["README.md", "docs/behaviour.md", "docs/index.md", "docs/limits.md"]
)
def test_sentences_that_the_documents_quote_are_said(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    quoted = re.findall(r"`((?:\.\.\. )?[\w']+ [\w']+ [^`\n]+)`", text)
    assert quoted
    wrong = []
    for quote in quoted:
        pieces = [piece for piece in re.split(r"'[^']*'|\.\.\.", quote) if len(piece) > 8]
        is_said = any(is_made_of(quote, template.split(":")[0]) for template in templates())
        if not is_said and not all(any(p.strip() in t for t in templates()) for p in pieces):
            wrong.append(quote)
    assert [quote for quote in wrong if not quote.startswith("python3 ")] == []
