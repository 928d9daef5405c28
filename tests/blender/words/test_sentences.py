"""Promise 6: a status appears for its reason, explained and translated; other chains go on."""

import re

import bpy
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from blender_ik_addon.core import SolveOptions, Solver, Status
from blender_ik_addon.core.model.message import Message
from blender_ik_addon.rig.posing.outcome import Outcome
from blender_ik_addon.rig.posing.reasons import Reasons
from blender_ik_addon.rig.tools import lengths
from blender_ik_addon.rig.tools.wording import outcome_in_words
from tests.blender.setups import rigs
from tests.blender.setups.spoiling import assert_is_advice
from tests.blender.words import sentences
from tests.blender.words.cases_of_rigs import BODIES, INPUT, JOINTS, TREES
from tests.blender.words.cases_of_solves import SOLVES, STATES
from tests.blender.words.steps import Case
from tests.helpers import make_rng

TABLES = [STATES, INPUT, JOINTS, BODIES, TREES, SOLVES]
BAKE = "What *Bake Chains* reports"
# Starts of paths of files whose sentences buttons report, and no status shows.
REPORTS = (
    "rig/anatomy/limb",
    "rig/keying/",
    "rig/clips/",
    "rig/comparing/",
    "rig/tools/converting.py",
    "rig/tools/control_bones.py",
    "rig/controls/control_spaces.py",
    "rig/controls/foot_roll.py",
    "rig/tools/pole_angles.py",
    "rig/tools/trial_solve.py",
)


def statuses() -> list[str]:
    """Return all statuses that the page explains: its rows without the reports of bakes."""
    return [row for title, rows in sentences.rows().items() if title != BAKE for row in rows]


@pytest.mark.parametrize(
    "cases", TABLES, ids=["states", "input", "joints", "bodies", "trees", "solves"]
)
def test_sentences_are_said_when_their_reasons_hold_and_not_without(cases, empty_file):
    for case in cases:
        bpy.ops.wm.read_homefile(filepath=empty_file)
        check(case)


def check(case: Case) -> None:
    """Check that a status appears with its cause alone, explained and translated."""
    ob = case.make_rig()

    def status() -> Message:
        rigs.updated()
        chain = ob.chain_ik.chains[case.chain]
        assert chain.message == chain.status
        return chain.message

    with case.setup(ob):
        before = status()
        with case.cause(ob):
            shown = status()
            if shown.endswith("."):
                assert_is_advice(shown)
                assert_others_follow(ob, shown)
                assert status() == shown
        after = status()
    expected = ".*".join(re.escape(part) for part in case.status.split("..."))
    assert re.match(expected, shown), f"{shown}, and not {case.status}"
    assert not re.match(expected, before), before
    assert not re.match(expected, after), after
    assert re.split(r"[\d.(]", after)[0] == re.split(r"[\d.(]", before)[0], case.status
    rows_of_page = map(plain, statuses())
    assert any(is_row(row, plain(shown)) for row in rows_of_page), f"{shown}: give it a row"
    assert not sentences.untranslated(shown), shown


def assert_others_follow(ob: bpy.types.Object, shown: str) -> None:
    """Check that chains with another status, and not named by this one, follow their targets.

    Chains of a body are not checked, as they are posed together.
    """
    others = [chain for chain in ob.chain_ik.chains if chain.status != shown]
    for chain in others if not ob.chain_ik.body.use_body else ():
        if chain.mute or chain.subtarget or f"'{chain.name}'" in shown:
            continue
        home = chain.target.location.copy()
        for step in ((0.1, -0.1, -0.1), (0.0, 0.0, 0.0)):
            chain.target.location = np.add(home, step)
            rigs.assert_reaches(ob, chain.bone, chain.target, rigs.updated())
    assert np.isfinite(np.concatenate(list(rigs.rotations(ob).values()))).all()


def is_row(row: str, shown: str) -> bool:
    """Return whether a row of the page matches a status; a row of too few words never does."""
    fixed = row.split("...")
    is_specific = len(fixed) == 1 or len("".join(fixed).split()) >= sentences.MIN_WORDS
    return is_specific and re.fullmatch(".*".join(map(re.escape, fixed)), shown) is not None


def test_every_status_is_explained_and_every_explained_status_exists():
    shown = {
        text
        for text, place in sentences.sentences().items()
        if place.startswith(("core/", "properties/status", "rig/"))
        and not place.startswith(REPORTS)
        # This one is the name of a constraint.
        and text != "Chain IK Space"
    }
    assert len(shown) > 80
    explained = [plain(row) for row in statuses()]
    missing = [
        text
        for text in map(plain, shown)
        if not any(sentences.contains(row, text) or is_row(row, text) for row in explained)
    ]
    assert not missing, "give them a row on the page"
    wrong = [row for rows in sentences.rows().values() for row in rows if sentences.unsaid(row)]
    assert not wrong, "no sentence is so"


def plain(text: str) -> str:
    """Return a sentence with "..." for names, and one word for two that share their rows."""
    text = re.sub(r"'[^' ]([^']*[^' ])?'(?!s\b)", "'...'", text)
    return re.sub(r"\bpole\b", "target", re.sub(r"\blengthen\b", "shorten", text))


@pytest.mark.parametrize(
    "file", ["README.md", "docs/behaviour.md", "docs/index.md", "docs/limits.md"]
)
def test_sentences_that_the_documents_quote_are_said(file):
    text = (sentences.ROOT / file).read_text(encoding="utf-8")
    quoted = re.findall(r"`((?:\.\.\. )?[\w']+ [\w']+ [^`\n]+)`", text)
    assert quoted
    assert not [text for text in quoted if not text.startswith("python3 ") and not is_part(text)]


def is_part(quote: str) -> bool:
    begins = any(sentences.contains(quote, text.split(":")[0]) for text in sentences.sentences())
    parts = [part.strip() for part in re.split(r"'[^']*'|\.\.\.", quote) if len(part) > 8]
    return begins or all(any(part in text for text in sentences.sentences()) for part in parts)


def test_a_chain_that_is_new_waits_for_the_next_update_and_one_that_the_eye_hides_is_solved():
    ob = rigs.make_rig()
    target = rigs.make_empty()
    rigs.updated()
    chain = rigs.add_chain(ob, "Bone.1", target)
    assert chain.status == "Not solved yet: move the target, or change the frame"
    for is_hidden in (False, True):
        ob.hide_set(is_hidden)
        rigs.updated()
        assert chain.status.startswith("Reached"), chain.status


def test_a_bone_of_another_rig_that_is_gone_is_named_until_it_is_there_again():
    ob, _ = rigs.make_arm()
    other = rigs.make_rig(name="Other")
    chain = ob.chain_ik.chains[0]
    rigs.change(chain, target=other, subtarget="Bone.1")
    assert chain.status.startswith("Reached"), chain.status
    # As in a file of an older version, which has no record of bones.
    ob.chain_ik.seen_bones = ""
    rigs.change(other.data.bones["Bone.1"], name="Gone")
    assert chain.status == (
        "Bone 'Bone.1' of 'Other' no longer exists: choose another bone for the chain to follow."
    )
    rigs.change(other.data.bones["Gone"], name="Bone.1")
    assert chain.status.startswith("Reached"), chain.status


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["FABRIK", "CCD", "NEWTON", "FORCE"])
def test_a_status_names_limits_only_if_there_are_some_and_they_are_used(solver):
    rng = make_rng(6)
    ob = rigs.make_rig(rigs.zigzag(3))
    target = rigs.make_empty()
    chain = rigs.add_chain(ob, "Bone.2", target, solver=solver, use_rotation=True)
    for _ in range(2):
        target.location = rng.uniform(-1.5, 1.5, 3)
        target.rotation_euler = rng.uniform(-3.0, 3.0, 3)
        for is_limited, use_limits in ((True, True), (True, False), (False, True)):
            for bone in ob.pose.bones:
                bone.use_ik_limit_x = bone.lock_ik_y = bone.lock_ik_z = is_limited
                bone.ik_min_x, bone.ik_max_x = -0.1, 0.1
                bone.ik_stiffness_x = 0.6 * (not is_limited)
            rigs.change(chain, use_limits=use_limits)
            names_limits = re.search("limit|lock|joint", chain.status) is not None
            assert names_limits == (is_limited and use_limits), chain.status


def test_texts_use_the_words_of_the_menus():
    """They use no identifiers of scripts, like NEWTON or TWO_BONE."""
    known = {
        *"BALL CCD CMU CTRL ELBOW_X FABRIK FIXED FK HINGE_X IK JSON MB NLA SWING WGT XYZ".split()
    }
    wrong = {t: set(re.findall(r"\b[A-Z]{2}[A-Z_]*\b", t)) - known for _, t in sentences.texts()}
    assert not {text: words for text, words in wrong.items() if words}


UNIT = lengths.LengthUnit()
# Lengths with the same text in narrow columns as everywhere.
LENGTHS = [
    (0.0, UNIT, "0 m"),
    (1.5e-5, UNIT, "15 µm"),
    (9.5e-3, UNIT, "9.5 mm"),
    (0.012, UNIT, "1.2 cm"),
    (1.0, UNIT, "1 m"),
    (1234.0, UNIT, "1.2 km"),
    (2.0, lengths.LengthUnit(metres=0.01), "2 cm"),
    (0.0123, lengths.LengthUnit(metres=1000.0), "12 m"),
    (0.0127, lengths.LengthUnit("IMPERIAL"), "500 thou"),
    (0.5, lengths.LengthUnit("IMPERIAL"), "1.6'"),
    (0.00123, lengths.LengthUnit("NONE"), "0.0012"),
    (2.99, lengths.LengthUnit(unit="CENTIMETERS"), "299 cm"),
    (2.99, lengths.LengthUnit("IMPERIAL", "INCHES"), '118"'),
]
# Lengths that narrow columns show in another unit than the scene's, as that is shorter.
LONG = [
    (7.7e-6, lengths.LengthUnit(unit="METERS"), "7.7 µm"),
    (0.0000123, lengths.LengthUnit(unit="CENTIMETERS"), "12 µm"),
    (2.99, lengths.LengthUnit("IMPERIAL", "THOU"), "9.8'"),
    (0.0000012, lengths.LengthUnit("NONE"), "1.2e-06"),
]


def test_lengths_have_two_digits_and_a_fitting_unit_and_in_narrow_columns_the_shortest():
    for length, unit, words in LENGTHS:
        assert lengths.short_length(length, unit) == words == lengths.length_in_words(length, unit)
    for length, unit, words in LONG:
        assert lengths.short_length(length, unit) == words
        assert len(words) < len(lengths.length_in_words(length, unit))


def test_every_unit_that_a_scene_offers_is_known():
    for unit, (size, ending) in lengths.UNITS.items():
        system = "METRIC" if unit.endswith("METERS") else "IMPERIAL"
        bpy.context.scene.unit_settings.system = system
        bpy.context.scene.unit_settings.length_unit = unit
        assert lengths.length_unit(bpy.context.scene) == lengths.LengthUnit(system, unit)
        exact = bpy.utils.units.to_value(system, "LENGTH", f"1{ending.replace('µ', 'u')}")
        assert exact == pytest.approx(size, rel=1e-6), unit


@given(st.floats(1e-5, 1e5))
@example(0.9996)
@example(99.6)
@example(0.0996)
@example(9.96e-5)
def test_a_length_is_right_to_two_digits(length):
    words = lengths.length_in_words(length, UNIT)
    read = bpy.utils.units.to_value("METRIC", "LENGTH", words.replace("µ", "u"))
    assert read == pytest.approx(length, rel=0.051), words


def outcome(
    status: Status, residual: float, iterations: int = 0, cap: int = 500, **others: object
) -> Outcome:
    options = SolveOptions(solver=Solver.CCD, iterations=cap)
    others.setdefault("has_locks", False)
    return Outcome(status, residual, iterations, why=Reasons(options), **others)


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (outcome(Status.REACHED, 2e-5, 5), "Reached (20 µm, 5 iterations)"),
        (outcome(Status.REACHED, 2e-5, 1), "Reached (20 µm, 1 iteration)"),
        (outcome(Status.REACHED, 2e-5), "Reached (20 µm)"),
        (outcome(Status.REACHED, 2e-7, 5), "Reached (5 iterations)"),
        (outcome(Status.REACHED, 0.0), "Reached"),
        (
            outcome(Status.REACHED, 0.0, tip_gap=np.radians(1.03)),
            "Reached; the rotation differs from the target's by 1 degree",
        ),
        (
            outcome(Status.OUTWEIGHED, 0.12, 9, pins=("Leg.L", "Leg.R"), outweighed_by=("Floor",)),
            "Held back by Leg.L, Leg.R (pinned), Floor: 12 cm",
        ),
    ],
)
def test_every_outcome_of_a_solve_has_its_words(ended, words):
    assert outcome_in_words(ended, UNIT).startswith(words)
    assert all(outcome_in_words(outcome(status, 0.1, 3), UNIT) for status in Status)


def test_the_residual_is_the_remaining_distance_and_is_shown_in_the_scenes_units():
    bpy.context.scene.unit_settings.scale_length = 0.01
    ob, target = rigs.make_arm((3, 4, 0))
    chain = ob.chain_ik.chains[0]
    assert chain.status == "Out of reach by 0.03 m: extended"
    distance = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target))
    assert chain.residual == pytest.approx(distance, abs=1e-6)
    rigs.change(chain, bone="Gone")
    assert chain.residual == -1.0
