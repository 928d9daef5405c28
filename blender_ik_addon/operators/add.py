"""The operators that add a chain, and a pole to a chain."""

from __future__ import annotations

import math
from dataclasses import replace

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty

from ..core import SolveOptions, Solver
from ..core.algebra.arithmetic import Array
from ..preferences.addon import CONTROLS, gets_pole, preferences
from ..properties.chain_lists import add_chain
from ..properties.chains import active_armature, chain_key, free_name, live_chains, owner_of
from ..properties.choices import LABEL_CONTEXT, SOLVERS
from ..properties.controls.space_names import movers
from ..properties.records import bend_spec, bones_spec, chain_spec, controls_of_chain
from ..properties.settings import like_setting
from ..properties.sharing import check_new, limb_of
from ..properties.stored import store
from ..rig.anatomy.limbs import is_end
from ..rig.controls.control_spaces import copy_spaces, has_parent, label, move_to
from ..rig.controls.default_poles import Placement, placement
from ..rig.keying import baking
from ..rig.keying.renumbering import is_animated
from ..rig.planning.known_skeletons import skeleton_of
from ..rig.reading.spec import Anchor, ChainSpec, RotationBone, names_of_chains
from ..rig.reading.world import channels_of
from ..rig.tools.control_bones import can_add_bones
from ..rig.tools.controls import pole_control, target_control
from ..rig.tools.fk_ik import controls_off_goals
from ..rig.tools.restoring import differs_from_keys
from . import selection
from .base import SKIP_SAVE, ChainOperator
from .controls import NO_BONES, choose_control, make_controls, search_parents
from .selection import Selection

AUTOMATIC = (
    "AUTO",
    "Automatic",
    "Solver that is set in the preferences. Without changes there: Two-Bone for two bones that no"
    " other chain uses, otherwise Newton",
)


def _tips(operator: bpy.types.Operator, context: bpy.types.Context) -> list[tuple[str, str, str]]:
    """Return the bones that can be chosen as the tip, as items of an enum."""
    owner = None if context is None else active_armature(context)
    names = [] if owner is None else owner.pose.bones.keys()
    return [(name, name, "") for name in names] or [("", "", "")]


class POSE_OT_chain_ik_add(ChainOperator):
    """Add a chain for the selected bones.

    Another selected object or bone becomes its target, and a second one its pole. If none is
    selected, a new control is made. The pose changes only if you select the pole, or if the target
    is an object that is not an empty.
    """

    bl_label = "Add Chain"
    bl_property = "tip"

    bone: StringProperty(
        name="Tip Bone",
        description="The bone at the end of the chain",
        options={*SKIP_SAVE, "HIDDEN"},
    )
    tip: EnumProperty(
        name="Tip Bone",
        description="The bone at the end of the chain, searched in a list",
        items=_tips,
        options={*SKIP_SAVE, "HIDDEN"},
    )
    chain_count: IntProperty(
        name="Chain Length",
        description="Number of bones in the chain, counted upward from the tip bone. 0: the"
        " selected bones. If only the tip is selected: all bones up to the first that is not"
        " connected",
        min=0,
        max=300,
        options=SKIP_SAVE,
    )
    use_connected: BoolProperty(
        name="Connected Only",
        description="Begin the chain at the first bone above the tip that is not connected to its"
        " parent. Off: begin at the topmost parent. Used if only the tip bone is selected",
        default=True,
        options=SKIP_SAVE,
    )
    solver: EnumProperty(
        name="Solver",
        description="Method that turns the bones toward the target",
        translation_context=LABEL_CONTEXT,
        items=(AUTOMATIC, *SOLVERS),
        options=SKIP_SAVE,
    )
    control: EnumProperty(
        name="Control",
        description="Kind of the new target and pole. The preferences decide until you choose here",
        items=CONTROLS,
    )
    parent: StringProperty(
        name="Parent",
        description="Parent of the new control bones, for example the root bone. Empty: no parent",
        search=search_parents,
    )
    use_tail: like_setting("use_tail", "Bring the tip bone's tail to the target", options=SKIP_SAVE)
    use_rotation: like_setting(
        "use_rotation",
        "Give the target's rotation to the hand, foot or tip. Initially on if a hand or foot is"
        " selected",
        options=SKIP_SAVE,
    )
    use_pole: BoolProperty(
        name="Add Pole",
        description="Add a pole on the side to which the limb bends. The preferences decide until"
        " you choose here",
        options=SKIP_SAVE,
    )
    use_snap: BoolProperty(
        name="Snap Target",
        description="Move the target to the tip, so that the pose does not change. Initially on"
        " if the target is a bone or an empty",
        default=True,
        options=SKIP_SAVE,
    )

    problems = (selection.problem_of_controls, selection.problem)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if selection.shows_bones(context) or bpy.app.background:
            return self.execute(context)
        context.window_manager.invoke_search_popup(self)
        return {"RUNNING_MODAL"}

    def act(self, context: bpy.types.Context) -> None:
        tip = self.tip if self.properties.is_property_set("tip") else self.bone
        selected = selection.read(context, tip)
        owner = selected.armature_object
        spec = self._spec_of(selected)
        solver = "" if self.solver == AUTOMATIC[0] else self.solver
        # With Automatic, ``add_chain`` chooses a solver of trees for chains that share bones.
        options = SolveOptions(solver=Solver(solver or Solver.NEWTON))
        check_new(owner, replace(spec, options=options))
        placed = placement(owner, spec)
        self._show_choices(context, selected, spec, placed)
        spec = self._add_controls(context, selected, spec, placed)
        settings = add_chain(owner, spec, placed.bone_count, preferences(context), solver)
        store(settings)
        frame = selection.scene_of(context).frame_current_final
        if differs_from_keys(owner, bones_spec(settings), frame):
            self.warn("The bones' keyframes differ from their pose: insert keys to keep the pose.")
        if is_animated(owner, owner.chain_ik.active_index):
            self.warn(
                "Keys or drivers of a removed chain animate the new chain: delete those that do"
                " not belong to it."
            )

    def _spec_of(self, selected: Selection) -> ChainSpec:
        """Return the settings of the new chain, from the selection and the options."""
        bones, count = selected.bones, selected.chain_count
        # A hand or foot at the end turns with the target; only the bones before it reach for that.
        skeleton = skeleton_of(selected.armature_object)
        has_end = count > 2 and self.use_tail and is_end(skeleton, selected.bone)
        is_apart = has_end and not _ends_at_tail(selected)
        is_chosen = self.properties.is_property_set("use_rotation")
        return ChainSpec(
            name=free_name(names_of_chains(selected.armature_object), bones[-1]),
            bone=bones[-2] if has_end and not is_apart else bones[-1],
            chain_count=self.chain_count or count - has_end or self._connected_count(selected),
            use_tail=self.use_tail and not is_apart,
            use_rotation=self.use_rotation if is_chosen else has_end,
            rotation_bone=RotationBone.TIP if is_apart else RotationBone.AUTO,
            target=selected.target,
            pole=selected.pole,
        )

    def _connected_count(self, selected: Selection) -> int:
        """Return the number of bones of a chain whose tip alone is selected; 0 for all parents."""
        skeleton = skeleton_of(selected.armature_object)
        run = skeleton.connected_run(skeleton.index[selected.bone])
        if not self.use_connected or skeleton.parents[run[-1]] < 0:
            return 0
        self.tell(
            "'{names}' is not connected to its parent, so the chain begins there. To include all"
            " parents, switch Connected Only off in Adjust Last Operation.",
            names=skeleton.names[run[-1]],
        )
        return len(run)

    def _show_choices(
        self, context: bpy.types.Context, selected: Selection, spec: ChainSpec, placed: Placement
    ) -> None:
        """Show the choices in *Adjust Last Operation*; with them, a repeat adds the same chain."""
        if selected.chain_count:
            self.chain_count = spec.chain_count
        self.use_rotation = spec.use_rotation
        if not self.properties.is_property_set("use_pole"):
            self.use_pole = gets_pole(context, placed.bone_count) and spec.pole is None
        choose_control(self, context)
        if not self.properties.is_property_set("use_snap"):
            # The operator may move a bone or an empty, but no other object.
            target = spec.target
            is_control = target is not None and (target.bone or target.object.type == "EMPTY")
            self.use_snap = target is None or bool(is_control)

    def _add_controls(
        self, context: bpy.types.Context, selected: Selection, spec: ChainSpec, placed: Placement
    ) -> ChainSpec:
        """Return the settings with a target, and with a pole if there is or shall be one."""
        owner, controls = selected.armature_object, []
        if spec.target is None:
            controls.append(target_control(spec.name, placed, self.parent))
        elif self.use_snap:
            self._snap_target(context, spec.target, placed.target)
        if spec.pole is None and self.use_pole:
            controls.append(pole_control(spec.name, placed, self.parent))
        new_controls = iter(make_controls(context, owner, controls, self.control))
        if controls and self.control == "BONE" and not can_add_bones(owner):
            self.tell(NO_BONES)
        target = spec.target or next(new_controls)
        return replace(spec, target=target, pole=spec.pole or next(new_controls, None))

    def _snap_target(self, context: bpy.types.Context, target: Anchor, tip: Array) -> None:
        """Move a target to the tip of its chain; if something else holds it, move it back."""
        before = channels_of(target).matrix_basis.copy()
        move_to(target, tip)
        context.view_layer.update()
        held_controls, name = controls_off_goals({target: tip}), label(target)
        self.warn_of_held(held_controls)
        if held_controls:
            channels_of(target).matrix_basis = before
        else:
            self.tell("'{name}' was moved to the tip of the chain", name=name)


class POSE_OT_chain_ik_pole_add(ChainOperator):
    """Add a pole to the active chain, on the side to which it bends now."""

    bl_label = "Add Pole"

    control: EnumProperty(
        name="Control",
        description="Kind of the pole. The preferences decide until you choose here",
        items=CONTROLS,
    )

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        problem = selection.problem_of_controls(context) or selection.problem_of_pole(context)
        if not problem and selection.chain(context).pole_target is not None:
            problem = "This chain has a pole already."
            if selection.chain(context).pole_mode == "FOLLOW":
                problem = "This chain has a pole already: set Bend to Toward Pole."
        return problem

    def act(self, context: bpy.types.Context) -> None:
        settings = selection.chain(context)
        owner = owner_of(settings)
        index = chain_key(settings)[1]
        choose_control(self, context)
        # Keys of the angle stay valid: the pole is placed so that the present angle fits it.
        angle = settings.pole_angle if baking.is_animated(owner, index, "pole_angle") else 0.0
        chain = chain_spec(settings, with_stored=False)
        spec = replace(
            bones_spec(settings),
            pole_angle=angle + math.pi * settings.use_flip_bend,
            negative_scale=chain.negative_scale,
            start_from=chain.start_from,
            use_limits=chain.use_limits,
            joints=chain.joints,
        )
        limb = limb_of(owner, spec, live_chains(owner))
        placed = placement(owner, limb, bend_spec(settings))
        control = pole_control(settings.name, placed)
        (pole,) = make_controls(context, owner, [control], self.control)
        settings = owner.chain_ik.chains[index]
        settings.pole_mode, settings.pole_angle = "TARGET", angle
        settings.pole_target = pole.object
        settings.pole_subtarget = pole.bone
        target, _ = controls_of_chain(settings)
        if target is not None and target != pole and not has_parent(pole):
            # Blender must evaluate the new pole before it gets a space.
            context.view_layer.update()
            copy_spaces(target, pole, movers())


def _ends_at_tail(selected: Selection) -> bool:
    """Tell whether the tip is the only bone at its parent's tail."""
    skeleton = skeleton_of(selected.armature_object)
    before, tip = (skeleton.index[name] for name in selected.bones[-2:])
    return skeleton.child_at_tail(before) == tip
