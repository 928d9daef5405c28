"""Edits of chains and whole bodies by scripts: lists, settings, joints, and bad values."""

from __future__ import annotations

import math

import bpy

from tests.blender.edits import random_scene as scene
from tests.blender.edits.kinds.random_round_trips import round_trip
from tests.blender.edits.random_draws import Lookup, add_setters, edit, set_by_path
from tests.blender.edits.random_feet import bones_of_feet
from tests.blender.edits.random_scene import BONE, EDITABLE_CHAIN, EDITABLE_RIG, OF_CHAIN, OF_RIG
from tests.blender.edits.random_values import AXIS, FLAG, THING, maybe, one_of, pairs, sampled
from tests.blender.setups import rigs

KINDS = one_of("BALL CONE HINGE_X HINGE_Y HINGE_Z ELBOW_X ELBOW_Z SWING FIXED")
FLAGS = one_of(
    "use_flip_bend use_tail use_rotation use_twist_spread use_finish use_limits use_stretch"
    " use_keep_volume"
)
BREAKABLE = one_of(
    "influence pole_angle tolerance soft_distance orient_weight weight max_bend force.gravity"
    " force.mass force.stiffness_root"
)
NUMBERS = pairs(
    influence=(0.0, 0.5, 0.1, 0.9, 1.0),
    pole_angle=(0.0, 1.0, -3.0),
    pole_mode=("FOLLOW", "FOLLOW", "TARGET"),
    pole_lean=(-1.0, 0.0),
    orient_weight=(0.0, 0.5, 1.0),
    iterations=(1, 8, 500),
    tolerance=(0.0, 0.01, 1e-5),
    weight=(0.0, 0.3, 1.0),
    soft_distance=(0.0, 0.2, 10.0),
    max_bend=(0.3,),
    chain_count=(0, 1, 2, 3, 300),
    negative_scale=("KEEP", "MIRROR"),
    follow_lead=("ROOT", "TIP"),
    use_anchor=(True, False),
)
FORCES = pairs(
    stiffness_root=(0.0, 3.0),
    stiffness_tip=(0.2,),
    comfort_root=(0.3,),
    comfort_tip=(0.0,),
    mass=(0.0, 2.0),
    gravity=(0.0, 1.0),
    force_mode=("CLASSIC", "EXACT"),
    force_gain=(0.3,),
    use_gradual=(True, False),
    fastest=(1.0,),
    creature=("",),
)
JOINT_VALUES = pairs(
    **dict.fromkeys(("use_limit_x", "use_limit_y", "use_limit_z"), (True,)),
    min_x=(-0.5, 1.0),
    max_x=(0.5,),
    min_z=(0.2,),
    max_z=(2.0,),
    cone_angle=(0.3,),
    stiffness_x=(0.9,),
    use_slide=(True, False),
    slide_max=(0.3,),
    slide_min=(-0.2,),
    relative_to=("PARENT", "CHILD", "REST"),
)
GOALS = pairs(priority=(1, 2, 3, 9), use_pin=(True, False), pull=(0.0, 0.4, 1.0))
MAX_CHAINS = 4

add_setters(
    OF_CHAIN,
    rename_chain=("name", sampled(("Chain", "Arm", "", "Leg"))),
    set_solver=("solver", one_of("NEWTON TWO_BONE FABRIK CCD FORCE FOLLOW")),
    set_start=("start_from", one_of("KEYED REST CURRENT")),
    mute_chain=("mute", FLAG),
    set_flag=("{}", FLAGS, FLAG),
    set_number=("", NUMBERS),
    clear_pole=("pole_target", None),
    break_setting=("{}", BREAKABLE, sampled((math.nan, math.inf, -math.inf))),
)
JOINT = Lookup(lambda number, arguments: scene.pick(arguments["chain"].joints, number))
add_setters({**OF_CHAIN, "joint": JOINT}, set_joint=("", JOINT_VALUES))
add_setters(EDITABLE_CHAIN, set_goal_of_body=("", GOALS))
add_setters(
    EDITABLE_RIG,
    switch_body=("chain_ik.body.use_body", FLAG),
    set_share_of_body=("chain_ik.body.influence", sampled((0.0, 0.5, 1.0))),
)


def has_editable_list(ob: bpy.types.Object) -> bool:
    """Return whether scripts can remove chains: there are some, and the object is not linked."""
    return bool(ob.chain_ik.chains) and ob.library is None and ob.override_library is None


@edit(EDITABLE_RIG, bone=BONE, j=THING)
def add_chain(ob, bone, j):
    if len(ob.chain_ik.chains) < MAX_CHAINS:
        rigs.add_chain(ob, bone.name, scene.other_object(j))


@edit(OF_RIG, chain=THING)
def remove_chain(ob, chain):
    if has_editable_list(ob):
        ob.chain_ik.chains.remove(chain % len(ob.chain_ik.chains))
        ob.update_tag()  # Blender does not notice changes of lists by scripts


@edit(OF_RIG, chain=THING, other=THING)
def move_chain(ob, chain, other):
    if has_editable_list(ob):
        count = len(ob.chain_ik.chains)
        ob.chain_ik.chains.move(chain % count, other % count)
        ob.update_tag()


@edit(OF_CHAIN, j=THING, bone=THING, on_bone=FLAG, is_target=FLAG)
def set_target_or_pole(chain, j, bone, on_bone, is_target):
    target = scene.any_object(j)
    pose_bone = scene.bone_of(target, bone) if on_bone else None
    name = "" if pose_bone is None else pose_bone.name
    if is_target:
        chain.target, chain.subtarget = target, name
    else:
        chain.pole_target, chain.pole_subtarget = target, name


@edit(OF_CHAIN, j=THING)
def set_plain_pole(chain, j):
    chain.pole_target, chain.pole_subtarget = scene.other_object(j), ""


@edit(OF_CHAIN, bone=BONE)
def aim_at_own_bone(ob, chain, bone):
    chain.target, chain.subtarget = ob, bone.name


@edit(OF_CHAIN, bone=BONE)
def set_tip(chain, bone):
    chain.bone = bone.name


@edit(OF_CHAIN, value=FORCES)
def set_force(chain, value):
    if chain.solver == "FORCE":
        setattr(chain.force, *value)


@edit(OF_CHAIN, bone=BONE, kind=KINDS)
def add_joint(chain, bone, kind):
    if len(chain.joints) < 3:
        joint = chain.joints.add()
        joint.kind = kind
        joint.bone = bone.name


def topmost(bone: bpy.types.PoseBone) -> str:
    return [bone, *bone.parent_recursive][-1].name


@edit(EDITABLE_RIG, bone=BONE, is_top=FLAG)
def make_body(ob, bone, is_top):
    """Make a body as a script does; with ``is_top`` its root is the topmost bone."""
    ob.chain_ik.body.root = topmost(bone) if is_top else bone.name
    ob.chain_ik.body.use_body = True


@edit(scene.OF_ACTIVE, use_pins=FLAG, is_chosen=FLAG)
def make_body_by_button(ob, bone, use_pins, is_chosen):
    if is_chosen:
        ob.chain_ik.body.root = topmost(ob.pose.bones[bone])
    # A body with a bone of a mechanism as its root would move the mechanism.
    if ob.chain_ik.body.root not in bones_of_feet(ob):
        scene.press(bpy.ops.pose.chain_ik_body, control="BONE", use_pins=use_pins)


@edit(EDITABLE_RIG, bone=maybe(THING))
def set_root_of_body(ob, bone):
    root = None if bone is None else scene.bone_of(ob, bone)
    ob.chain_ik.body.root = "" if root is None else root.name


@edit(EDITABLE_CHAIN, is_later=FLAG)
def key_pin_of_body(chain, is_later):
    for frame, value in ((2, not is_later), (4, is_later)):
        chain.use_pin = value
        chain.keyframe_insert("use_pin", frame=frame)


@edit(EDITABLE_RIG, update=FLAG)
def body_off_and_on(ob, update):
    if not ob.chain_ik.body.use_body:
        return
    with round_trip("body off and on", is_restored=True):
        ties = [tie for bone in ob.pose.bones for tie in bone.constraints]
        mutes = [(thing, thing.mute) for thing in (*ob.chain_ik.chains, *ties)]
        for value in (False, True):
            ob.chain_ik.body.use_body = value
            if update:
                bpy.context.view_layer.update()
        for thing, value in mutes:
            thing.mute = value


BROKEN = {
    "channel": one_of("location rotation scale"),
    "axis": AXIS,
    "value": sampled((math.nan, math.inf, -math.inf)),
}
MENDED = {
    **dict.fromkeys(("influence", "orient_weight", "weight", "force.mass"), 1.0),
    **dict.fromkeys(("pole_angle", "soft_distance", "force.gravity", "force.stiffness_root"), 0.0),
    **{"tolerance": 1e-5, "max_bend": math.pi, "stored_pose": "", "force.creature": ""},
}
TEXTS = sampled(
    (("stored_pose", "{"), ("stored_pose", "[1]"), ("force.creature", "{"), ("bone", "\x01"))
)
HOME = {"location": 0.0, "scale": 1.0, "rotation_quaternion": 0.5}


def break_channel(thing: bpy.types.bpy_struct, channel: str, axis: int, value: float) -> None:
    name = rigs.rotation_property(thing) if channel == "rotation" else channel
    getattr(thing, name)[axis] = value


@edit(scene.OF_OBJECT, BROKEN)
def break_object(ob, channel, axis, value):
    break_channel(ob, channel, axis, value)


@edit(scene.OF_BONE, BROKEN)
def break_bone(bone, channel, axis, value):
    break_channel(bone, channel, axis, value)


@edit(OF_CHAIN, text=TEXTS)
def break_text(ob, chain, text):
    set_by_path(chain, *text)
    ob.update_tag()  # no property reports a change of the stored pose


@edit()
def mend_channels():
    """Reset all channels that are not finite."""
    for ob in bpy.data.objects:
        for thing in (ob, *(ob.pose.bones if ob.pose is not None else ())):
            for name, size in scene.CHANNELS.items():
                if not all(map(math.isfinite, getattr(thing, name))):
                    setattr(thing, name, [HOME.get(name, 0.0)] * size)


@edit(OF_CHAIN)
def mend_settings(ob, chain):
    for name, value in MENDED.items():
        set_by_path(chain, name, value)
    ob.update_tag()
