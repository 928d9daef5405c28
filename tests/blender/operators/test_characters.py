"""Whole characters: every limb is found, named right, set up in one step, and mirrored."""

import re
from itertools import product
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from tests.blender.setups import rigs, ties
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.selecting import press, refusal, select_bones, symmetrize

DATA = Path(__file__).resolve().parents[2] / "data"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "characters.md"
setup = bpy.ops.pose.chain_ik_setup
mirror = bpy.ops.pose.chain_ik_mirror

MECHANISM = "Chain IK Mechanism"
SIDES = {".L": ("Left", "l", "L"), ".R": ("Right", "r", "R")}
MAIN_LIMBS = {"ARM", "LEG", "SPIDER_LEG", "SPINE", "NECK", "TAIL", "WING"}
# The bones of toes that stay on the floor while their foot rolls; each one has a chain.
TOES = {
    "human": {"Toe": "toe"},
    "horse": {"Front Toe": "f_hoof", "Hind Toe": "r_hoof"},
    "bird": {"Toe": "toe"},
}
SIDED = {"Arm", "Leg", "Front Leg", "Hind Leg", "Wing"}
MOCAP = ("mixamo_names", "cmu_names")
# Names of the bones of an arm and a leg in other systems, left and right.
CONVENTIONS = {
    "Unreal": "upperarm_{1} lowerarm_{1} hand_{1} thigh_{1} calf_{1} foot_{1}",
    "VRM": "J_Bip_{2}_UpperArm J_Bip_{2}_LowerArm J_Bip_{2}_Hand"
    " J_Bip_{2}_UpperLeg J_Bip_{2}_LowerLeg J_Bip_{2}_Foot",
    "plain, dots": "arm.{2} forearm.{2} hand.{2} thigh.{2} shin.{2} foot.{2}",
    "joints, as in Maya": "{2}_shoulder_jnt {2}_elbow_jnt {2}_wrist_jnt"
    " {2}_hip_jnt {2}_knee_jnt {2}_ankle_jnt",
    "Daz": "{1}Shldr {1}ForeArm {1}Hand {1}Thigh {1}Shin {1}Foot",
    "anatomy": "humerus.{2} radius.{2} manus.{2} femur.{2} tibia.{2} pes.{2}",
    "anatomy of a frog": "humerus_{1} radioulna_{1} carpus_{1}"
    " femur_{1} tibiofibula_{1} tarsus_{1}",
    "one word twice": "Arm.{2} Arm.{2}.001 Hand.{2} Leg.{2} Leg.{2}.001 Foot.{2}",
    "plain, words": "{0}UpperArm {0}LowerArm {0}Hand {0}UpperLeg {0}LowerLeg {0}Foot",
    # The parents of its hands and feet are not ends of limbs.
    "Rigify's controls": "upper_arm_fk.{2} forearm_fk.{2} MCH-hand_fk.{2}"
    " thigh_fk.{2} shin_fk.{2} MCH-foot_fk.{2}",
}


def read_chains(ob: bpy.types.Object) -> dict[str, tuple[str, str, int, str]]:
    """Return first and last bone of all chains, their number, and the bone that takes the turn."""
    limbs = {}
    for chain in ob.chain_ik.chains:
        last = ob.data.bones[chain.bone]
        first = last
        for _ in range(chain.chain_count - 1):
            first = first.parent
        hands = [
            child.name
            for child in last.children
            if (child.head_local - last.tail_local).length < 1e-3 * last.length
        ]
        turned = hands[0] if chain.use_rotation and chain.rotation_bone == "AUTO" else ""
        limbs[chain.name] = (first.name, last.name, chain.chain_count, turned)
    return limbs


def of_side(bone: str, side: str) -> str:
    return bone.replace("Left", SIDES[side][0]) if "Left" in bone else bone and f"{bone}{side}"


def read_limbs() -> dict[str, dict[str, tuple[str, str, int, str]]]:
    """Return the limbs that the page lists, by rig and limb, in the form of `read_chains`."""
    limbs: dict[str, dict[str, tuple[str, str, int, str]]] = {}
    row = re.compile(r"^\|(.*)\| (.*) \| `(.*)` to `(.*)` \((\d)\) \|(.*)\|$", re.MULTILINE)
    for title, limb, first, last, count, turned in row.findall(PAGE.read_text(encoding="utf-8")):
        if title.strip():
            name = title.split(", ")[1].strip().lower().replace("'s ", "_")
            limbs[name] = {}
        hand = turned.strip(" `") if "`" in turned else ""
        for side in SIDES if limb in SIDED else ("",):
            first_and_last = of_side(first, side), of_side(last, side)
            limbs[name][f"{limb}{side}"] = (*first_and_last, int(count), of_side(hand, side))
    return limbs


LIMBS = read_limbs()


def add_rig(name: str) -> bpy.types.Object:
    if name in MOCAP:
        bpy.ops.import_anim.bvh(filepath=str(DATA / f"{name}.bvh"))
    else:
        getattr(bpy.ops.object, f"armature_{name}_metarig_add")()
    bpy.context.view_layer.update()
    return bpy.context.object


def assert_stays(ob: bpy.types.Object, before: dict[str, np.ndarray]) -> None:
    after = rigs.matrices(ob)
    height = max(np.abs(matrix[:3, 3]).max() for matrix in before.values())
    for name, matrix in before.items():
        off = np.abs(after[name] - matrix)
        assert off[:3, 3].max() <= 1e-6 * height, name
        assert off[:3, :3].max() <= 1e-3, name


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *product(LIMBS, ["bones", "empties and limits"]),
        *product(["human", "horse", "shark"], ["along Y"]),
    ],
)
def test_every_limb_is_found_named_and_set_up_in_one_step_and_nothing_moves(rigify, name, how):
    ob = add_rig(name)
    if how == "along Y":
        # As in FBX files: the turned object keeps the character upright.
        ob.data.transform(Matrix.Rotation(-np.pi / 2.0, 4, "X"))
        rigs.change(ob, rotation_euler=(np.pi / 2.0, 0.0, 0.0))
    before, use_limits = rigs.matrices(ob), how == "empties and limits"
    press(setup, control="EMPTY" if use_limits else "BONE", use_limits=use_limits)
    limbs, chains = read_chains(ob), ob.chain_ik.chains
    toes = {limb: limbs.pop(limb) for limb in [*limbs] if "Toe" in limb}
    fins = {limb: limbs.pop(limb) for limb in [*limbs] if "Fin" in limb}
    bones = {"Toe": "ToeBase"} if name in MOCAP else TOES.get(name, {})
    assert toes.keys() == {f"{toe}{side}" for toe in bones for side in SIDES if not use_limits}
    for limb, (first, last, count, turned) in toes.items():
        assert (first, count, turned) == (last, 1, "")
        assert bones[limb[:-2]] in last
    assert len(fins) == (5 if name == "shark" else 0)
    assert limbs == {limb: row for limb, row in LIMBS[name].items() if "Fin" not in limb}
    for bone in (bone for bone in ob.data.bones if bone.name not in before):
        assert not bone.use_deform
        if MECHANISM in bone.collections:
            assert len(bone.collections) == 1
            assert not bone.collections[0].is_visible
    if how != "along Y":
        assert_stays(ob, before)
        assert all(chain.status.startswith("Reached") for chain in chains)
    assert any(chain.joints for chain in chains) == use_limits
    softened = {chain.name for chain in chains if chain.soft_distance > 0.0}
    assert softened == {limb for limb in limbs if limb.startswith(("Arm", "Leg", "Front", "Hind"))}


def test_limits_give_knees_elbows_necks_and_tails_their_kinds_of_joints(rigify):
    ob = add_rig("cat")
    press(setup, use_limits=True)
    kinds = {joint.bone: joint.kind for chain in ob.chain_ik.chains for joint in chain.joints}
    assert {kinds[f"{bone}.{side}"] for bone in ("shin", "forearm") for side in "LR"} == {"HINGE_X"}
    assert kinds["spine.005"] == kinds["spine.006"] == kinds["tail.002"] == "CONE"
    assert kinds.keys().isdisjoint({"thigh.L", "spine.001"})


@pytest.mark.parametrize(
    ("bend", "scale"),
    [
        *((bend, (1, 1, 1)) for bend in (0.3, 0.05, 0.01, 0.001, 0.0)),
        (0.3, (0.01, 0.01, 0.01)),
        (0.05, (2.0, 0.5, 1.2)),
    ],
)
def test_the_soft_distance_of_limbs_fits_the_room_that_their_pose_leaves(bend, scale):
    ob = rigs.make_rig([(0, 0, 1), (0, 0, 1.2), (0, 0, 1.6)])
    joints = np.array([(0.1, 0, 1), (0.1, -bend, 0.5), (0.1, 0, 0), (0.1, -0.2, 0)])
    rigs.add_bones(ob, joints, names=("thigh.L", "shin.L", "foot.L"), parent="Bone.0")
    rigs.change(ob, rotation_euler=(0.3, 0.2, -0.5), scale=scale)
    before = rigs.matrices(ob)
    press(setup)
    (chain,) = ob.chain_ik.chains
    assert_stays(ob, before)
    assert chain.status.startswith("Reached")
    soft = chain.soft_distance
    reach = sum(
        np.linalg.norm(rigs.tail(ob, name) - rigs.head(ob, name)) for name in ("thigh.L", "shin.L")
    )
    room = 2.0 * np.hypot(0.5, bend) - 1.0
    if bend >= 0.3:
        assert soft == pytest.approx(0.02 * reach, rel=1e-5)
    elif bend >= 0.01:
        assert soft == pytest.approx(room * max(scale), rel=1e-3)
    else:
        # A smaller distance would not help.
        assert soft == 0.0


def make_limbs(convention: str, side: str) -> bpy.types.Object:
    """Return a body with an arm and a leg on one side, named by a convention."""
    words = convention.format(*SIDES[side]).split()
    x = 1.0 if side == ".L" else -1.0
    ob = rigs.make_rig([(0, 0, 1), (0, 0, 1.2), (0, 0, 1.6)])
    for parent, joints, names in (
        ("Bone.1", [(0.2, 0, 1.5), (0.5, 0.05, 1.5), (0.8, 0, 1.5), (0.9, 0, 1.5)], words[:3]),
        ("Bone.0", [(0.1, 0, 1), (0.1, -0.05, 0.5), (0.1, 0, 0.1), (0.1, -0.2, 0)], words[3:]),
    ):
        rigs.add_bones(ob, np.array(joints) * (x, 1, 1), names=names, parent=parent)
    return ob


@pytest.mark.parametrize("convention", CONVENTIONS.values(), ids=CONVENTIONS.keys())
def test_arms_and_legs_are_found_by_the_names_of_other_systems(convention):
    for side in SIDES:
        ob = make_limbs(convention, side)
        words = convention.format(*SIDES[side]).split()
        hand, foot = ("" if word.startswith("MCH") else word for word in (words[2], words[5]))
        press(setup)
        assert read_chains(ob) == {
            f"Arm{side}": (words[0], words[1], 2, hand),
            f"Leg{side}": (words[3], words[4], 2, foot),
        }


@pytest.mark.parametrize("halves", [("upperarm_l", "thigh_l"), ("lowerarm_l", "calf_l")])
def test_a_limb_with_several_bones_in_a_half_is_not_set_up(halves):
    """As Rigify's deforming bones in a game: chains would begin or end in the middle of a half."""
    ob = make_limbs(CONVENTIONS["Unreal"], ".L")
    with rigs.editing(ob) as bones:
        for bone in bones:
            bone.select = bone.select_head = bone.select_tail = bone.name in halves
        bpy.ops.armature.subdivide()
    assert len(ob.data.bones) == 10
    assert "No limb of these kinds" in refusal(setup)


def test_the_neck_tells_the_chest_of_a_creature_without_arms():
    """A dragon or bird may have wings but no shoulder bones; a chest plate is not a neck."""
    spine = ["Hips", "Spine", "Chest", "Neck", "Neck.001", "Head"]
    joints = [(0, 0.1 * i, 1 + 0.05 * i * i) for i in range(7)]
    ob = rigs.make_rig(joints[:4], names=spine[:3])
    rigs.add_bones(ob, [joints[3], (0, 0.1, 1.6)], names=["Chest Plate"], parent="Chest")
    rigs.add_bones(ob, joints[3:], names=spine[3:], parent="Chest")
    wing = [(0.1, 0.2, 1), (0.5, 0.2, 1.2), (0.9, 0.3, 1.1), (1.3, 0.2, 1)]
    rigs.add_bones(ob, wing, names=[f"Wing.{i:03}.L" for i in range(3)], parent="Chest")
    press(setup)
    assert read_chains(ob) == {
        "Spine": ("Spine", "Chest", 2, ""),
        "Neck": ("Neck", "Neck.001", 2, "Head"),
        "Wing.L": ("Wing.000.L", "Wing.002.L", 3, ""),
    }


def test_the_bones_of_a_generated_rig_that_others_turn_get_no_chains():
    ob = make_limbs(CONVENTIONS["plain, dots"], ".L")
    for name in ("arm.L", "forearm.L", "hand.L"):
        ties.constrain(ob.pose.bones[name], "COPY_TRANSFORMS", target=rigs.make_empty())
    press(setup)
    assert list(read_chains(ob)) == ["Leg.L"]


@pytest.mark.parametrize("add", [(), ("ulna", "fibula")])
def test_of_two_bones_in_a_lower_half_the_one_with_the_hand_bends_and_one_coxa_is_a_hip(add):
    ob = make_limbs("humerus.{2} ulna.{2} manus.{2} femur.{2} fibula.{2} pes.{2}", ".L")
    ob.data.bones["Bone.0"].name = "coxa.L"
    lower = {"ulna": "radius", "fibula": "tibia"}
    with rigs.editing(ob) as bones:
        for name in add:
            old, new = bones[f"{name}.L"], bones.new(f"{lower[name]}.L")
            new.head, new.tail, new.parent = old.head, old.tail, old.parent
            rigs.set_each(old.children, parent=new)
    press(setup)
    first, second = (lower[name] if add else name for name in lower)
    assert read_chains(ob) == {
        "Arm.L": ("humerus.L", f"{first}.L", 2, "manus.L"),
        "Leg.L": ("femur.L", f"{second}.L", 2, "pes.L"),
    }


@pytest.mark.parametrize(
    "words",
    [
        ("Leg{}_0", "Leg{}_1", "Leg{}_2"),
        ("Leg{}_coxa", "Leg{}_femur", "Leg{}_tibia"),
        ("Leg{}_0", "Leg{}_1"),
        ("coxa{}", "trochanter{}", "femur{}", "tibia{}", "tarsus{}"),
    ],
)
def test_the_legs_of_a_spider_are_numbered_in_pairs(words):
    ob = rigs.make_rig([(0, 0, 1), (0, 0.5, 1)])
    places = [(0.1, 1.0), (0.3, 1.2), (0.4, 1.3), (0.8, 0.8), (0.9, 0.1), (1.0, 0.0)]
    for pair in range(4):
        for side, x in ((".L", 1.0), (".R", -1.0)):
            joints = [(x * across, 0.1 * pair, z) for across, z in places[-1 - len(words) :]]
            names = [f"{word.format(pair)}{side}" for word in words]
            rigs.add_bones(ob, joints, names=names, parent="Bone.0")
    select_bones(ob, names)
    press(bpy.ops.pose.chain_ik_add)
    # The end of such a leg is no foot.
    (chain,) = ob.chain_ik.chains
    assert (chain.bone, chain.use_rotation) == (names[-1], False)
    press(bpy.ops.pose.chain_ik_remove)
    press(setup)
    limbs = {f"Leg {i + 1}{side}": (i, side) for i in range(4) for side in SIDES}
    assert read_chains(ob) == {
        limb: (f"{words[0].format(i)}{side}", f"{words[-1].format(i)}{side}", len(words), "")
        for limb, (i, side) in limbs.items()
    }
    assert all(chain.pole_mode == "FOLLOW" for chain in ob.chain_ik.chains)


def test_only_the_selected_limbs_are_set_up_on_request_and_none_twice(rigify, capfd):
    ob = add_rig("human")
    select_bones(ob, ["forearm.L", "shin.R"])
    press(setup, scope="SELECTED")
    assert set(read_chains(ob)) == {"Arm.L", "Leg.R", "Toe.R"}
    assert ob.chain_ik.chains["Arm.L"].space == "Root"
    assert "Set up 3 chains: Arm.L, Leg.R, Toe.R" in capfd.readouterr().out
    assert ob.chain_ik.chains[ob.chain_ik.active_index].name == "Arm.L"
    select_bones(ob, ["forearm.R"])
    press(setup, scope="SELECTED")
    assert "Set up 1 chain: Arm.R" in capfd.readouterr().out
    assert ob.chain_ik.chains[ob.chain_ik.active_index].name == "Arm.R"
    press(setup)
    assert len(read_chains(ob)) == 8
    # The name of a palm bone in Unreal; palm bones are not part of fingers.
    ob.data.bones["palm.01.L"].name = "index_metacarpal.L"
    press(setup, kinds={"FINGER"})
    names = {"Thumb", "Index", "Middle", "Ring", "Pinky"}
    fingers = {limb: row for limb, row in read_chains(ob).items() if limb[:-2] in names}
    assert fingers.keys() == {f"{name}{side}" for name in names for side in SIDES}
    assert all(count == 3 for *_, count, _ in fingers.values())
    assert refusal(setup) == (
        "Every limb that was found already has a chain: to add a chain for other bones, select"
        " them in pose mode and press +."
    )


def test_a_second_chain_of_bones_is_refused_where_both_cannot_be_solved_together(rigify):
    ob = add_rig("human")
    press(setup, control="BONE")
    chains = ob.chain_ik.chains
    select_bones(ob, ["upper_arm.L", "forearm.L", "hand.L"])
    add = bpy.ops.pose.chain_ik_add
    text = (
        "Bone 'upper_arm.L' already belongs to chain 'Arm.L', and the two chains cannot be solved"
        " together: {} for {}, select other bones, or remove chain 'Arm.L' first."
    )
    solver = "choose Newton or FABRIK as the solver"
    assert refusal(add) == text.format(solver, "'Arm.L'")
    rigs.change(chains["Arm.L"], solver="NEWTON")
    assert refusal(add, solver="TWO_BONE") == text.format(solver, "this chain")
    press(add)
    rigs.updated()
    assert chains[-1].status == chains["Arm.L"].status == "Reached"
    press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    rigs.change(chains["Arm.L"], use_stretch=True)
    assert refusal(add) == text.format("switch Stretch off", "'Arm.L'")
    chains["Arm.L"].mute = True
    press(add)


def test_a_refusal_names_the_kinds_of_limbs_that_were_not_found():
    ob = rigs.make_rig(rigs.zigzag(2))
    select_bones(ob, ["Bone.0"])
    for scope in ("ALL", "SELECTED"):
        assert refusal(setup, kinds={"ARM", "SPIDER_LEG"}, scope=scope) == (
            "No limb of these kinds (Arm, Spider Leg) was found from bone names and parents:"
            " select the bones of a limb in pose mode and press +."
        )


@pytest.mark.parametrize("scope", ["ALL", "SELECTED"])
def test_a_refusal_says_that_constraints_turn_the_bones_of_limbs(scope):
    ob = make_left_arm()
    select_bones(ob, ["forearm.L"])
    ob.pose.bones["hand.L"].driver_add("rotation_quaternion", 0)
    constraint = ob.pose.bones["forearm.L"].constraints.new("COPY_ROTATION")
    assert "limbs of these kinds (Arm): mute" in refusal(setup, kinds={"ARM", "LEG"}, scope=scope)
    assert "(Leg) was found" in refusal(setup, kinds={"LEG"}, scope=scope)
    constraint.mute = True
    press(setup)


def make_left_arm() -> bpy.types.Object:
    """Return a body with one arm."""
    ob = rigs.make_rig([(0, 0, 1), (0, 0, 1.6)])
    joints = [(0.2, 0, 1.5), (0.5, 0.1, 1.5), (0.8, 0, 1.45), (0.9, 0, 1.4)]
    rigs.add_bones(ob, joints, names=("upper_arm.L", "forearm.L", "hand.L"), parent="Bone.0")
    return ob


def make_both_sides() -> bpy.types.Object:
    """Return a body with two arms; the right one mirrors the left one."""
    ob = make_left_arm()
    symmetrize(ob, "upper_arm.L", "forearm.L", "hand.L")
    return ob


@pytest.mark.parametrize(("control", "scale"), [("BONE", (2.0, 0.5, 1.2)), ("EMPTY", (1, 1, 1))])
def test_a_mirrored_chain_poses_the_other_side_as_the_mirror_image(control, scale):
    ob = make_both_sides()
    ob.location, ob.rotation_euler, ob.scale = (1, 2, 3), (0.3, 0.2, -0.5), scale
    select_bones(ob, ["upper_arm.L", "forearm.L", "hand.L"])
    press(bpy.ops.pose.chain_ik_add, control=control)
    chain = ob.chain_ik.chains[0]
    chain.pole_angle, chain.use_flip_bend = 0.4, True
    add_joint(chain, "upper_arm.L", "BALL", x=(-23, 70), y=(-17, 29), z=(-57, 11))
    moved = ob.pose.bones[chain.subtarget] if chain.subtarget else chain.target
    rigs.change(moved, location=np.add(moved.location, (0.1, -0.3, 0.2)))
    press(mirror)
    assert [chain.name for chain in ob.chain_ik.chains] == ["hand.L", "hand.R"]
    copy = ob.chain_ik.chains[1]
    assert (copy.bone, copy.rotation_bone, copy.use_flip_bend) == ("forearm.R", "AUTO", True)
    posed = rigs.matrices(ob)
    flip = np.diag((-1.0, 1.0, 1.0, 1.0))
    for name in ("upper_arm", "forearm", "hand"):
        np.testing.assert_allclose(
            posed[f"{name}.R"], flip @ posed[f"{name}.L"] @ flip, atol=2e-5, err_msg=name
        )


def test_a_chain_that_has_no_other_side_says_why():
    ob = make_both_sides()
    select_bones(ob, ["upper_arm.L", "forearm.L", "hand.L"])
    press(bpy.ops.pose.chain_ik_add)
    press(mirror)
    assert refusal(mirror) == "Chain 'hand.L' drives the other side already: remove it first."
    rigs.add_chain(ob, "Bone.0", None)
    ob.chain_ik.active_index = 2
    assert refusal(mirror).startswith("Bone 'Bone.0' has no side in its name")


def test_limbs_whose_bones_have_keys_are_named_as_their_targets_have_none(capfd):
    ob = make_limbs(CONVENTIONS["Unreal"], ".L")
    for name, frame in (("upperarm_l", 1), ("upperarm_l", 20), ("thigh_l", 1)):
        rigs.key_rotations(ob, frame, [name])
    press(setup)
    text = "These chains have keyed bones, but no keyed targets: Arm.L. Press Plant Feet to key"
    assert f"{text} these targets." in capfd.readouterr().out


@pytest.mark.parametrize("name", MOCAP)
def test_recorded_skeletons_that_are_laid_out_along_one_axis_have_the_same_limbs(name, tmp_path):
    def lay_out(offset: re.Match[str]) -> str:
        x, y, z = map(float, offset.groups())
        return f"OFFSET {np.hypot(np.hypot(x, y), z):.4f} 0.0 {-0.1 * x:.4f}"

    text = (DATA / f"{name}.bvh").read_text()
    path = tmp_path / f"{name}.bvh"
    path.write_text(re.sub(r"OFFSET (\S+) (\S+) (\S+)", lay_out, text))
    bpy.ops.import_anim.bvh(filepath=str(path))
    ob = bpy.context.object
    press(setup, control="EMPTY")
    assert {limb: read_chains(ob).get(limb) for limb in LIMBS[name]} == LIMBS[name]
