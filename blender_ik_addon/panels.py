"""The sidebar: the list of chains and the settings of the active one. Draws only."""

from __future__ import annotations

import textwrap

import bpy
from bl_ui.utils import PresetPanel

from .properties import (
    RANGED_AXES,
    STIFF_AXES,
    ChainSettings,
    JointSettings,
    active_chain,
    owner_of,
    tree_in_words,
    tree_of,
)

CATEGORY = "Chain IK"
# What chains whose root stays use, beside what all chains do: bones, target, influence.
ROOTED = frozenset(
    (
        "use_rotation",
        "orient_weight",
        "rotation_bone",
        "pole_target",
        "pole_subtarget",
        "pole_angle",
        "use_flip_bend",
        "negative_scale",
        "use_limits",
        "joints",
        "soft_distance",
        "use_stretch",
        "use_keep_volume",
        "start_from",
    )
)
ITERATED = ROOTED | {"iterations", "tolerance"}
USES = {
    "TWO_BONE": ROOTED,
    "FABRIK": ITERATED | {"use_finish"},
    "CCD": ITERATED | {"use_finish"},
    "NEWTON": ITERATED,
    "FORCE": ITERATED | {"force"},
    "FOLLOW": frozenset(("follow_lead", "use_anchor", "max_bend", "use_limits", "joints")),
}
"""Which settings solvers use; those of others are not shown."""
IN_ORDER = (
    *("follow_lead", "use_anchor", "max_bend"),
    *("iterations", "tolerance", "use_finish", "start_from"),
)
"""Those that the panel of the solver shows, in its order."""
# Labels do not wrap by themselves; so many characters fit a sidebar of the usual width.
SIDEBAR_CHARACTERS = 40
# Always as many, so that what is below stays where it is.
STATUS_LINES = 3


class CHAINIK_UL_chains(bpy.types.UIList):
    """One chain a row: name, influence, mute."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.PropertyGroup,
        item: ChainSettings,
        _icon: int,
        _active_data: bpy.types.PropertyGroup,
        _active_property: str,
        _index: int,
    ) -> None:
        # Names need the room: they tell the chains apart.
        row = layout.split(factor=0.6, align=True)
        row.prop(item, "name", text="", emboss=False, icon="CON_KINEMATIC")
        row = row.row(align=True)
        row.prop(item, "influence", text="", slider=True)
        row.prop(item, "mute", text="", invert_checkbox=True)


class CHAINIK_UL_joints(bpy.types.UIList):
    """One joint a row: its bone and its kind."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.PropertyGroup,
        item: JointSettings,
        _icon: int,
        _active_data: bpy.types.PropertyGroup,
        _active_property: str,
        _index: int,
    ) -> None:
        row = layout.split(factor=0.6, align=True)
        row.label(text=item.bone or "No bone")
        row.prop(item, "kind", text="", emboss=False)


class ChainPanel(bpy.types.Panel):
    """What all panels of the tab share."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = CATEGORY


class ActiveChainPanel(ChainPanel):
    """A panel about the active chain.

    Attributes:
        about: A setting; where the solver does not use it, there is nothing in the panel to set.
    """

    bl_parent_id = "VIEW3D_PT_chain_ik"
    about = ""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = active_chain(context)
        return settings is not None and (not cls.about or cls.about in USES[settings.solver])

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        settings = active_chain(context)
        layout.active = not settings.mute
        self.draw_settings(layout, settings)


class VIEW3D_PT_chain_ik(ChainPanel):
    """The list of chains."""

    bl_label = "Chain IK"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        chain = active_chain(context)
        owner = context.active_object if chain is None else owner_of(chain)
        if owner is None or owner.type != "ARMATURE":
            layout.label(text="Select an armature or a target")
            return
        row = layout.row()
        chains = owner.chain_ik
        row.template_list("CHAINIK_UL_chains", "", chains, "chains", chains, "active_index", rows=4)
        column = row.column(align=True)
        column.operator("pose.chain_ik_add", text="", icon="ADD")
        column.operator("pose.chain_ik_remove", text="", icon="REMOVE")
        column.separator()
        column.operator("pose.chain_ik_store", text="", icon="ARMATURE_DATA")
        column.operator("pose.chain_ik_restore", text="", icon="LOOP_BACK")
        column.separator()
        column.operator("pose.chain_ik_mirror", text="", icon="MOD_MIRROR")
        layout.operator("pose.chain_ik_setup", icon="OUTLINER_OB_ARMATURE")
        row = layout.row(align=True)
        row.prop(context.scene.chain_ik, "use_live", toggle=True, icon="PLAY")
        row.operator("pose.chain_ik_solve")
        row.operator("pose.chain_ik_bake")
        row.operator_menu_enum("pose.chain_ik_convert", "direction", text="Convert")


class VIEW3D_PT_chain_ik_status(ActiveChainPanel):
    """What the last solve did, at a fixed height."""

    bl_label = "Status"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        lines = textwrap.wrap(
            settings.status, SIDEBAR_CHARACTERS, max_lines=STATUS_LINES, placeholder=" ..."
        )
        column = layout.column(align=True)
        for line in (lines + [""] * STATUS_LINES)[:STATUS_LINES]:
            column.label(text=line)


class VIEW3D_PT_chain_ik_details(ActiveChainPanel):
    """The whole status, however long it is."""

    bl_label = "Details"
    bl_parent_id = "VIEW3D_PT_chain_ik_status"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        column = layout.column(align=True)
        for line in textwrap.wrap(settings.status, SIDEBAR_CHARACTERS):
            column.label(text=line)


class VIEW3D_PT_chain_ik_match(ActiveChainPanel):
    """One side matched to the other: the pose of the bones, and target and pole."""

    bl_label = "FK / IK"
    bl_options = {"DEFAULT_CLOSED"}
    about = "start_from"

    def draw(self, _context: bpy.types.Context) -> None:
        # Not greyed out with a muted chain: that is one of the two sides.
        column = self.layout.column(align=True)
        column.operator("pose.chain_ik_switch", icon="ARROW_LEFTRIGHT")
        column.operator("pose.chain_ik_snap_target", icon="SNAP_ON")
        column.operator("pose.chain_ik_apply", icon="CHECKMARK")


class VIEW3D_PT_chain_ik_tree(ActiveChainPanel):
    """Which chains are solved together with this one, and what each of them counts."""

    bl_label = "Shared Bones"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = active_chain(context)
        return settings is not None and bool(tree_of(settings))

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        column = layout.column(align=True)
        for text in tree_in_words(settings):
            for line in textwrap.wrap(text, SIDEBAR_CHARACTERS):
                column.label(text=line)
        column = layout.column(align=True)
        column.prop(settings, "weight", slider=True)
        for other in tree_of(settings):
            column.prop(other, "weight", text=other.name, slider=True)


class VIEW3D_PT_chain_ik_goal(ActiveChainPanel):
    """Which bones follow what."""

    bl_label = "Bones and Target"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        owner = settings.id_data
        layout.prop_search(settings, "bone", owner.data, "bones")
        layout.prop(settings, "chain_count")
        _draw_anchor(layout, settings, "target", "subtarget")
        layout.prop(settings, "use_tail")
        if "use_rotation" in USES[settings.solver]:
            row = layout.row(heading="Rotation")
            row.prop(settings, "use_rotation", text="")
            weight = row.row()
            weight.active = settings.use_rotation
            weight.prop(settings, "orient_weight", text="")
            turned = layout.row()
            turned.active = settings.use_rotation
            turned.prop(settings, "rotation_bone")


class VIEW3D_PT_chain_ik_pole(ActiveChainPanel):
    """Which way the chain bends."""

    bl_label = "Pole"
    about = "pole_target"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        _draw_anchor(layout, settings, "pole_target", "pole_subtarget")
        if settings.pole_target is None:
            layout.operator("pose.chain_ik_pole_add", icon="ADD")
        else:
            layout.prop(settings, "pole_angle")
        layout.prop(settings, "use_flip_bend")
        layout.prop(settings, "negative_scale")


class VIEW3D_PT_chain_ik_joints(ActiveChainPanel):
    """What the joints allow."""

    bl_label = "Joints"
    bl_options = {"DEFAULT_CLOSED"}
    about = "joints"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        layout.prop(settings, "use_limits")
        held = layout.column()
        held.active = settings.use_limits
        row = held.row()
        row.template_list(
            "CHAINIK_UL_joints", "", settings, "joints", settings, "active_joint_index", rows=3
        )
        column = row.column(align=True)
        column.operator("pose.chain_ik_joint_add", text="", icon="ADD")
        column.operator("pose.chain_ik_joint_remove", text="", icon="REMOVE")
        column.separator()
        column.operator("pose.chain_ik_joints_copy", text="", icon="COPYDOWN")
        index = settings.active_joint_index
        if 0 <= index < len(settings.joints):
            _draw_joint(held, settings.joints[index], settings)


class VIEW3D_PT_chain_ik_reach(ActiveChainPanel):
    """What happens toward full reach and beyond it."""

    bl_label = "Reach"
    bl_options = {"DEFAULT_CLOSED"}
    about = "soft_distance"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        layout.prop(settings, "soft_distance")
        layout.prop(settings, "use_stretch")
        row = layout.row()
        row.active = settings.use_stretch
        row.prop(settings, "use_keep_volume")


class VIEW3D_PT_chain_ik_force(ActiveChainPanel):
    """What the bones resist and weigh, and how they follow in time."""

    bl_label = "Force"
    about = "force"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        force = settings.force
        row = layout.row(align=True)
        row.operator_menu_enum("pose.chain_ik_creature_load", "creature", text="Load Creature")
        row.operator("pose.chain_ik_creature_save", text="Save Creature")
        layout.prop(force, "creature")
        plain = layout.column()
        plain.active = not force.creature
        for name in ("stiffness_root", "stiffness_tip", "comfort_root", "comfort_tip", "mass"):
            plain.prop(force, name)
        layout.prop(force, "gravity")
        layout.prop(force, "force_mode")
        layout.prop(force, "force_gain")
        layout.prop(force, "use_gradual")
        eased = layout.column(align=True)
        eased.active = force.use_gradual
        eased.prop(force, "ease")
        eased.prop(force, "fastest")


class CHAINIK_PT_presets(PresetPanel, bpy.types.Panel):
    """The presets, those that come along and one's own."""

    bl_label = "Chain Presets"
    preset_subdir = "chain_ik"
    preset_operator = "script.execute_preset"
    preset_add_operator = "pose.chain_ik_preset_add"


class VIEW3D_PT_chain_ik_solver(ActiveChainPanel):
    """How the chain is solved."""

    bl_label = "Solver"

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        # A preset sets the active chain of the active object.
        settings = active_chain(context)
        if settings is not None and context.active_object == owner_of(settings):
            CHAINIK_PT_presets.draw_panel_header(self.layout)

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        layout.prop(settings, "solver")
        for name in IN_ORDER:
            if name in USES[settings.solver]:
                layout.prop(settings, name)


def _draw_anchor(
    layout: bpy.types.UILayout, settings: ChainSettings, target: str, bone: str
) -> None:
    layout.prop(settings, target)
    followed = getattr(settings, target)
    if followed is not None and followed.type == "ARMATURE":
        layout.prop_search(settings, bone, followed.data, "bones")


def _draw_joint(layout: bpy.types.UILayout, joint: JointSettings, settings: ChainSettings) -> None:
    """Draw what counts for a joint of this kind."""
    layout.prop_search(joint, "bone", owner_of(settings).data, "bones")
    layout.prop(joint, "kind")
    layout.prop(joint, "relative_to")
    if joint.kind == "CONE":
        layout.prop(joint, "cone_angle")
    for axis in RANGED_AXES[joint.kind]:
        row = layout.row(align=True, heading=f"Limit {axis.upper()}")
        row.prop(joint, f"use_limit_{axis}", text="")
        ends = row.row(align=True)
        ends.active = getattr(joint, f"use_limit_{axis}")
        ends.prop(joint, f"min_{axis}", text="")
        ends.prop(joint, f"max_{axis}", text="")
    if settings.solver == "FOLLOW":
        # A drag knows neither stiffness nor slides.
        return
    column = layout.column(align=True)
    for axis in STIFF_AXES[joint.kind]:
        column.prop(joint, f"stiffness_{axis}", slider=True)
    row = layout.row(align=True, heading="Slide")
    row.prop(joint, "use_slide", text="")
    ends = row.row(align=True)
    ends.active = joint.use_slide
    ends.prop(joint, "slide_min", text="")
    ends.prop(joint, "slide_max", text="")


classes = (
    CHAINIK_UL_chains,
    CHAINIK_UL_joints,
    VIEW3D_PT_chain_ik,
    VIEW3D_PT_chain_ik_status,
    VIEW3D_PT_chain_ik_details,
    VIEW3D_PT_chain_ik_tree,
    VIEW3D_PT_chain_ik_goal,
    VIEW3D_PT_chain_ik_pole,
    VIEW3D_PT_chain_ik_match,
    CHAINIK_PT_presets,
    VIEW3D_PT_chain_ik_solver,
    VIEW3D_PT_chain_ik_force,
    VIEW3D_PT_chain_ik_joints,
    VIEW3D_PT_chain_ik_reach,
)
register, unregister = bpy.utils.register_classes_factory(classes)
