"""Cases of statuses: settings, bones, joints and bodies that cannot be used."""

from functools import partial

from tests.blender.words.steps import (
    LIMB,
    Case,
    both,
    chain,
    constraint,
    driver,
    edit,
    follows,
    goes_along,
    hangs_below,
    joint,
    make_arms,
    make_leg,
    make_limbs,
    make_tree,
    nothing,
    on,
    target,
    unlink,
)

NAN = float("nan")
FOLLOW = chain(solver="FOLLOW")
FORCE = chain(solver="FORCE")
# A target that two bones reach as well, with the tip turned as at rest.
CLOSE = target(0.0, 0.1, 2.6, turned=(1.249046, 0.0, 0.0))
ZERO_SCALE = "The armature object has a scale of zero"
INPUT = [
    Case("The setting 'Tolerance' is not a number", chain(tolerance=NAN)),
    Case("The transform of armature 'Rig' is not finite or too", on("Rig", location=(NAN,) * 3)),
    Case("The transform of bone 'Limb.2' is not finite", on("Limb.2", location=(0.0, NAN, 0.0))),
    Case("The transform of the target 'Target' is not finite or", target(NAN, 0.0, 0.0)),
    Case(
        "The chain or its target is too far away, so the chain cannot", target(0, 1e15, 0), FOLLOW
    ),
    Case("No tip bone is set", chain(bone="")),
    Case("Bone 'Gone' no longer exists: choose another tip", chain(bone="Gone")),
    Case("Bone 'Limb.0' has no parent that could bring its", chain(bone="Limb.0", use_tail=False)),
    Case("No target is set", chain(target=None)),
    Case("The target 'Target' is no longer in the scene", unlink("Target")),
    Case("The target is the armature itself", follows("")),
    Case("The pole is the armature itself", follows("", role="pole_target")),
    Case("The target bone 'Gone' no longer exists", follows("Gone")),
    Case("This chain moves its own target bone 'Limb.1'", follows("Limb.1")),
    *(
        Case(
            f"This chain moves the space 'Limb.1' of its own {word} 'Free'{end}",
            goes_along(role, influence),
        )
        for word, role in (("target", "target"), ("pole", "pole_target"))
        for influence, end in (
            (1.0, ": choose another Space"),
            (
                0.0,
                ", which is off: key the eye of the constraint 'Chain IK Space Limb.1', off here"
                " and on where the space is on",
            ),
        )
    ),
    *(
        Case(f"This chain moves its own {word} 'Below'", below)
        for word, below in (
            ("target", hangs_below()),
            ("target", hangs_below(bone="Bone.1")),
            ("pole", hangs_below("pole_target")),
        )
    ),
    Case(
        "Bone 'Limb.1' has a driver on its rotation, which always wins: remove the driver or end",
        driver("Limb.1", "rotation_euler"),
    ),
    Case(
        "Bone 'Limb.1' has a driver on its scale",
        chain(use_stretch=True),
        driver("Limb.1", "scale"),
    ),
    Case(
        "The constraint 'IK' of bone 'Limb.2' also moves bone 'Limb.0' above this chain",
        both(chain(chain_count=2), constraint("Limb.2", "IK")),
    ),
    Case("Bone 'Limb.1' has a length of zero", on("Limb.1", scale=(0.0, 0.0, 0.0))),
    Case("Bone 'Limb.2' has a length of zero", on("Limb.2", scale=(1.0, 0.0, 1.0))),
    Case(
        "A bone of the chain has a scale of zero",
        on("Limb.0", scale=(0.0, 1.0, 1.0)),
        on("Limb.1", use_ik_limit_x=True),
    ),
    Case(
        "A bone of the chain has a scale of zero",
        on("Limb.0", scale=(1.0, 0.0, 1.0)),
        make_rig=make_leg,
    ),
    *(Case(ZERO_SCALE, on("Rig", scale=(1.0, 1.0, 0.0)), setup) for setup in (nothing, FOLLOW)),
    Case(
        "Bone 'Limb.0' has a scale of zero, so nothing below it can be dragged",
        on("Limb.0", scale=(0.0, 1.0, 1.0)),
        both(edit("Limb.1", use_connect=False), chain(solver="FOLLOW", chain_count=2)),
    ),
    Case("Two-Bone bends two bones and this chain has 3 to bend", chain(solver="TWO_BONE"), CLOSE),
    Case(
        "Two-Bone needs two bones besides the tip, which copies the target's rotation",
        chain(use_rotation=True),
        both(CLOSE, chain(solver="TWO_BONE", chain_count=2)),
    ),
    Case(
        "Connected is on for bone 'Limb.1', so it cannot be dragged", chain(chain_count=2), FOLLOW
    ),
    Case(
        "The location of bone 'Limb.0' is locked, so it cannot be dragged",
        on("Limb.0", lock_location=(False, True, False)),
        FOLLOW,
    ),
    Case(
        "Bone 'Limb.0' has a driver on its location, which always wins: remove the driver, or"
        " choose another solver",
        driver("Limb.0", "location"),
        FOLLOW,
    ),
    # More sentences about creatures: tests/blender/trees/test_creatures.py.
    Case(
        "Line 1 of the creature file is not JSON (Expecting value): correct this line",
        on("force", creature="x"),
        FORCE,
    ),
    Case(
        "The creature's comfort about x has a minimum greater than its maximum",
        on("force", creature='{"creature": 1, "comfort": {"x": [5, -5]}}'),
        FORCE,
    ),
]

SLIDES = {"use_slide": True, "slide_min": -0.2, "slide_max": 0.2}
DISCONNECTED = edit("Limb.1", use_connect=False)
SLIDING = both(DISCONNECTED, joint("Limb.1", **SLIDES))
LIMITED = joint("Limb.1", x=(-20, 20))
JOINTS = [
    Case("A joint of this chain has no bone", joint("")),
    Case("A joint of this chain uses bone 'Gone', which no longer exists", joint("Gone")),
    Case("Bone 'Limb.0' has no parent to measure from", joint("Limb.0", relative_to="PARENT")),
    Case(
        "Bone 'Limb.1' does not inherit its parent's rotation",
        edit("Limb.1", use_inherit_rotation=False),
        joint("Limb.1", relative_to="PARENT"),
    ),
    Case("Bone 'Limb.2' is the last of the chain and has", joint("Limb.2", relative_to="CHILD")),
    Case(
        "Two joints of this chain limit bone 'Limb.1'",
        joint("Limb.0", relative_to="CHILD"),
        joint("Limb.1"),
    ),
    Case("The setting 'Max X' of the joint of 'Limb.1' is not a", on("joint", max_x=NAN), LIMITED),
    Case("Bone 'Limb.1' has a joint whose X range has a", on("joint", min_x=0.5), LIMITED),
    Case("Bone 'Limb.1' has a joint whose slide range has", on("joint", slide_min=0.5), SLIDING),
    Case("Bone 'Limb.1' slides in a chain that stretches", chain(use_stretch=True), SLIDING),
    Case(
        "Bone 'Limb.2' cannot slide, because its head is the",
        joint("Limb.2", **SLIDES),
        both(edit("Limb.2", use_connect=False), chain(use_tail=False, use_rotation=True)),
    ),
    Case(
        "Bone 'Limb.1' has a driver on its location, which always wins: remove the driver, or"
        " switch Slide off",
        driver("Limb.1", "location", 1),
        SLIDING,
    ),
    Case(
        "The head of bone 'Limb.2' slides with chain 'Other'",
        both(
            on("Other", bone=LIMB[2], chain_count=1),
            chain(chain_count=2),
            joint(LIMB[2], of="Other", use_slide=True),
        ),
        both(edit(LIMB[2], use_connect=False), chain(use_tail=False)),
    ),
]

BodyCase = partial(Case, make_rig=partial(make_limbs, "Limb.1"))


def body(root: str = "Limb.0") -> object:
    """Return the step that makes the limbs a body with this root bone."""
    return both(chain(chain_count=2), on("body", root=root, use_body=True))


BODIES = [
    BodyCase(
        "Out of reach by ...: extended. A chain with the solver Force or Follow is solved",
        on("Other", solver="FORCE"),
        both(on("Other", chain_count=2), body()),
        chain="Other",
    ),
    BodyCase(
        "Reached (... iterations). Bone 'gone', the root of the", on("body", root="gone"), body()
    ),
    BodyCase("Reached. No bone of the body carries this chain", on("body", root="Other.0"), body()),
    BodyCase("Connected is on for bone 'Limb.1', so the body", on("body", root="Limb.1"), body()),
    BodyCase(
        "The location of bone 'Limb.0' is locked, so the body cannot move it",
        on("Limb.0", lock_location=(False, True, False)),
        body(),
    ),
    BodyCase(
        "Bone 'Limb.0', the root of the body, has a constraint",
        constraint("Limb.0", "LIMIT_LOCATION"),
        body(),
    ),
    BodyCase(
        "Bone 'Limb.0' has a driver on its location, which always wins: remove the driver, or"
        " choose another Root",
        driver("Limb.0", "location"),
        body(),
    ),
    BodyCase("Bone 'Limb.0' of the body has a driver", driver("Limb.0", "rotation_euler"), body()),
    BodyCase(
        "This chain begins above bone 'Limb.1', the root of its body",
        on("body", root="Limb.1"),
        both(body(), chain(chain_count=3)),
    ),
]

TreeCase = partial(Case, make_rig=make_tree)
SHARED = (
    "Bone 'Trunk.0' already belongs to chain 'Left', and the two chains cannot be solved together: "
)
TREES = [
    TreeCase(
        f"{SHARED}choose Newton or FABRIK as the solver for this chain",
        on("Right", solver="CCD"),
        chain="Right",
    ),
    TreeCase(
        f"{SHARED}choose Newton or FABRIK as the solver for 'Left'",
        on("Left", solver="FORCE"),
        chain="Right",
    ),
    TreeCase(
        f"{SHARED}switch Stretch off for this chain", on("Right", use_stretch=True), chain="Right"
    ),
    TreeCase(
        f"{SHARED}switch the slides of joints off for this chain",
        joint("Right.0", of="Right", **SLIDES),
        chain="Right",
    ),
    TreeCase(
        "This chain follows bones of chain 'Right' and shares other bones with",
        on("Right", mute=False),
        both(on("Right", mute=True), on("Left", chain_count=3), follows("Trunk.0", "Left")),
        chain="Left",
    ),
    Case(
        "This chain and chain 'Left' follow each other",
        follows("Left.1", "Right"),
        follows("Right.1", "Left"),
        make_rig=make_arms,
        chain="Right",
    ),
    TreeCase("No chain of this tree has a weight", on(("Left", "Right"), weight=0), chain="Left"),
    TreeCase(
        "A bone of the tree has a scale of zero", on("Trunk.0", scale=(0, 1, 1)), chain="Left"
    ),
    TreeCase(ZERO_SCALE, on("Rig", scale=(1.0, 0.0, 1.0)), chain="Left"),
]
