"""Cases of statuses: the outcome of a solve, or why there was none."""

from tests.blender.words.cases_of_rigs import DISCONNECTED, FORCE, SLIDES, TreeCase
from tests.blender.words.steps import (
    LIMB,
    Case,
    both,
    chain,
    constraint,
    edit,
    excluded,
    instanced,
    joint,
    limits,
    locks,
    make_hooked,
    mode,
    nothing,
    on,
    target,
    turned_by_hand,
    unlink,
)

OUT_OF_REACH = target(0.5, 3.0, 3.0)
HINGES = locks("yz")
TURNED = chain(use_rotation=True)
# A target rotation that a free tip can take; no tip can take the one of TWISTED.
ROTATED = both(FORCE, TURNED, target(0.3, 0.6, 2.0, turned=(1.2, 0.0, 0.0)))
TWIST = (0.0, -3.0, 0.0)
TWISTED = target(0.5, 1.0, 2.0, turned=TWIST)
NO_FINISH = chain(solver="CCD", use_finish=False)
NARROW = on("Limb.1", ik_min_x=-0.1, ik_max_x=0.1)
HELD = "Held back by the limits of Limb.0 X, Limb.0 Y, Limb.1 X and ... more, ... left"
LEFT = "... left because Finish with Newton is off: switch it on"
WITH = "with the target's rotation:"
OFF = "Reached (... iterations); the rotation differs from the target's by ... degrees, because"
STRETCH = (
    "Out of reach by ...: extended; to stretch, set IK Stretch on the bones"
    " and unlock their Y scale"
)
ACT_AFTER = (
    "act after the chain and leave ... to the target: mute them, or end the chain before these"
    " bones. Reached"
)

SOLVES = [
    Case("Out of reach by ...: extended", OUT_OF_REACH),
    Case("Too near by ...: folded", target(0.0, 0.0, 0.5), make_rig=make_hooked),
    Case("Points at its target, ... away", chain(chain_count=1)),
    Case("Turned like its target, ... away", chain(chain_count=1), TURNED),
    Case(f"Out of reach by ... {WITH} extended", TURNED, TWISTED),
    Case(
        f"Out of reach by ... {WITH} the tip takes this rotation, so only one bone is left to"
        " reach the target; set Rotation Bone to Hand or Foot, or lengthen the chain",
        TURNED,
        both(chain(chain_count=2), target(0.2, 0.4, 2.3, turned=TWIST)),
    ),
    Case(
        f"Too near by ... {WITH} the tip takes this rotation, so only one",
        TURNED,
        both(chain(chain_count=2), target(0.1, 0.4, 1.3, turned=TWIST)),
    ),
    Case(
        "Reached (... iterations); no bone takes the target's rotation, because no single bone",
        TURNED,
        both(chain(chain_count=2, rotation_bone="AUTO"), target(0.2, 0.4, 2.3)),
    ),
    Case("Kept ... short of the target", chain(soft_distance=0.5), target(0.9, 1.2, 2.0)),
    Case("Part of the way because of influence, ... left", chain(influence=0.5)),
    Case(
        "On its way, ... left",
        both(on("force", use_gradual=True), target(0.2, 0.9, 1.5)),
        both(FORCE, on("force", ease=5.0)),
    ),
    Case(STRETCH, chain(use_stretch=True), OUT_OF_REACH),
    Case(
        STRETCH,
        chain(use_stretch=True),
        both(on(LIMB, ik_stretch=0.5, lock_scale=(False, True, False)), OUT_OF_REACH),
    ),
    Case(
        "Held back by locked rotation channels, ... left",
        on(LIMB, lock_rotation=(True, True, True), lock_rotation_w=True),
    ),
    Case(
        "Held back by the limits of Limb.1 X, ... left",
        on("Limb.1", use_ik_limit_x=True),
        both(HINGES, NARROW, chain(bone="Limb.1"), target(0.0, 0.9, 1.3)),
    ),
    *(Case(HELD, limits(0.02), setup) for setup in (nothing, FORCE)),
    Case(f"{HELD}. Finish with Newton may find a nearer pose", limits(0.02), NO_FINISH),
    Case(
        "Held back by the limits of Limb.1 cone, ... left",
        on("joint", cone_angle=0.1),
        both(joint("Limb.1", "CONE", cone_angle=3.0), chain(bone="Limb.1"), target(0.0, 0.9, 1.3)),
    ),
    Case(
        "Held back by the limits of Limb.1 slide, ... left",
        on("joint", slide_min=-0.05, slide_max=0.05),
        both(
            DISCONNECTED,
            joint("Limb.0", "FIXED"),
            joint("Limb.1", "FIXED", use_slide=True, slide_min=-0.5, slide_max=0.5),
            target(0.0, 0.02, 2.199),
            chain(bone="Limb.1", tolerance=1e-3),
        ),
    ),
    Case("Held back by locked joints, ... left", HINGES),
    Case("Held back by locked joints, ... left", locks("xyz"), NO_FINISH),
    TreeCase(
        "Held back by locked joints, ... left",
        locks("xyz", ("Trunk.0", "Trunk.1", "Left.0", "Left.1", "Right.0", "Right.1")),
        both(on("Right", weight=0.0), on("Rig Left", location=(0.5, 0.7, 1.4))),
        chain="Left",
    ),
    Case("Stopped ... short after 2 iterations: raise Iterations", chain(iterations=2)),
    Case(
        "Stopped ... short after 1 iteration: raise Iterations or choose the solver Newton",
        chain(iterations=1),
        chain(solver="CCD"),
    ),
    Case(
        LEFT,
        on("Limb.0", scale=(0.01, 1.0, 1.0)),
        chain(chain_count=2, solver="CCD", use_finish=False),
    ),
    Case(
        "Stopped ... short after 2 iterations: switch Finish with Newton on, or raise Iterations",
        chain(iterations=2),
        NO_FINISH,
    ),
    Case("Stopped ... short after 1 iteration: raise Iterations", chain(iterations=1), limits(1.0)),
    Case(
        "Stopped ... short: no nearer pose was found",
        on("Limb.0", scale=(0.01, 1.0, 1.0)),
        chain(chain_count=2),
    ),
    TreeCase(
        "Outweighed by Right: ... off",
        both(on("Left", weight=0.1), on("Rig Left", location=(1.5, 0.0, 0.5))),
        on("Rig Right", location=(-0.8, 0.0, 1.4)),
        chain="Left",
    ),
    TreeCase(
        "Outweighed by Right: ... off",
        on("Right", mute=False),
        both(
            on("Left", weight=0.0),
            on("Right", mute=True),
            on("Rig Left", location=(1.3, 0.0, 0.5)),
            on("Rig Right", location=(-1.3, 0.0, 0.5)),
        ),
        chain="Left",
    ),
    *(
        Case(f"{OFF} the position comes first", TURNED, both(FORCE, setup, TWISTED))
        for setup in (nothing, limits(3.1))
    ),
    Case(f"{OFF} position and joints come first", limits(1.0), ROTATED),
    Case(
        f"{OFF} position and joints come first",
        HINGES,
        both(FORCE, TURNED, target(0.0, 0.6, 1.8, turned=(0.2, 0.5, 0.3))),
    ),
    Case(
        "Reached; the rotation differs from the target's by ... degrees, because its own joint"
        " limits it",
        on("Limb.2", use_ik_limit_x=True),
        both(
            on("Limb.2", ik_max_x=0.1),
            chain(use_rotation=True, use_tail=False),
            target(0.5, 0.5, 1.2, turned=(1.0, 0.0, 0.0)),
        ),
    ),
    Case(
        "Reached (..., ... iterations)", chain(solver="FABRIK", use_finish=False, tolerance=0.001)
    ),
    Case(
        "Reached; connected bones cannot slide, clear Connected in edit mode: Limb.1",
        joint("Limb.1", **SLIDES),
    ),
    Case(
        "Reached (...); bones with a locked location cannot slide, unlock their location: Limb.1",
        on("Limb.1", lock_location=(False, True, False)),
        both(DISCONNECTED, joint("Limb.1", **SLIDES)),
    ),
    Case(f"Constraints of Limb.1 {ACT_AFTER}", constraint("Limb.1", "COPY_ROTATION")),
    Case(
        f"Constraints of Limb.2 {ACT_AFTER}",
        both(
            edit("Limb.2", use_connect=False),
            chain(use_tail=False),
            constraint("Limb.2", "COPY_LOCATION"),
        ),
    ),
    Case("This chain poses Limb.1, so your change was reverted: move", turned_by_hand()),
    Case(
        "Reached; joints of bones that are not in the chain have no effect: Limb.0",
        chain(chain_count=2),
        joint("Limb.0"),
    ),
]
HIDDEN = "Not solved: the armature is hidden, or not in this view layer"
STATES = [
    Case("Muted", chain(mute=True)),
    Case("FK: pose the bones, influence is zero", chain(influence=0.0)),
    Case("Live is off", on("scene", use_live=False)),
    Case("Not solved: the armature is in edit mode", mode("EDIT")),
    Case("Not solved: the armature shows its rest position", on("data", pose_position="REST")),
    Case(HIDDEN, on("Rig", hide_viewport=True)),
    *(Case(HIDDEN, step) for step in (excluded(), unlink("Rig"))),
    Case("Not solved: the armature itself is not in this scene, for example", instanced()),
]
