"""The operator that solves the selected bones for the selected target, once."""

from __future__ import annotations

from dataclasses import replace

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

from ..core import IKError, SolveOptions, Solver
from ..properties.choices import LABEL_CONTEXT, SOLVERS, TOLERANCE
from ..properties.settings import like_setting
from ..properties.stored import check_free
from ..rig.controls.default_poles import placement
from ..rig.reading.spec import ChainSpec, NegativeScale, RotationBone, StartFrom
from ..rig.tools.lengths import length_unit
from ..rig.tools.trial_solve import solve_once
from ..rig.tools.wording import outcome_in_words
from . import selection
from .base import SKIP_SAVE, ChainOperator

AUTOMATIC = "AUTO", "Automatic", "Two-Bone for two bones, otherwise Newton"


class POSE_OT_chain_ik_solve(ChainOperator):
    """Bring the selected bones to the selected target once; no chain is added."""

    bl_label = "Solve Once"
    bl_description = (
        "Bring the tip of the selected bones once to the object or bone that is selected with"
        " them, without adding a chain. Select the bones in pose mode"
    )

    solver: EnumProperty(
        name="Solver",
        description="Method that turns the bones toward the target",
        translation_context=LABEL_CONTEXT,
        items=(AUTOMATIC, *SOLVERS),
    )
    bone: StringProperty(
        name="Tip Bone",
        description="The bone at the end of the chain, for modes that do not show selected bones",
        options={*SKIP_SAVE, "HIDDEN"},
    )
    chain_count: IntProperty(
        name="Chain Length",
        description="Number of bones to turn, counted upward from the tip bone. 0: the selected"
        " bones. If only the tip is selected: all bones up to the topmost parent",
        min=0,
        max=300,
        options=SKIP_SAVE,
    )
    use_flip_bend: like_setting("use_flip_bend", "Bend to the other side", options=SKIP_SAVE)
    negative_scale: like_setting(
        "negative_scale", "Side to which the limb bends when a negative scale mirrors its object"
    )
    use_tail: like_setting("use_tail", "Bring the tip bone's tail to the target")
    use_rotation: like_setting(
        "use_rotation", "Give the target's rotation to the hand, foot or tip"
    )
    influence: like_setting(
        "influence",
        "Amount by which the bones follow the target, from 0 (their own pose) to 1 (the target)",
    )
    iterations: like_setting(
        "iterations",
        "Maximum number of iterations. The solver stops sooner if it reaches the target",
    )
    tolerance: FloatProperty(
        name="Tolerance",
        description="Distance at which the target counts as reached, in scene units",
        **TOLERANCE,
    )
    use_rest_start: BoolProperty(
        name="From Rest Pose", description="Start from the rest pose instead of the present one"
    )

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        problem = selection.problem(context)
        if problem or not selection.shows_bones(context):
            return problem
        try:
            has_target = selection.read(context).target is not None
        except IKError as error:
            return error.message
        no_target = "Select a target as well: an object, or a bone outside the chain."
        return "" if has_target else no_target

    def act(self, context: bpy.types.Context) -> None:
        depsgraph = context.evaluated_depsgraph_get()
        selected = selection.read(context, self.bone)
        # *Adjust Last Operation* shows it; with it, a repeat solves the same chain.
        self.chain_count = self.chain_count or selected.chain_count
        spec = self._spec(selected)
        check_free(selected.armature_object, spec)
        outcome = solve_once(depsgraph, selected.armature_object, spec)
        self.tell(outcome_in_words(outcome, length_unit(context.scene)))

    def _spec(self, selected: selection.Selection) -> ChainSpec:
        is_automatic = self.solver == AUTOMATIC[0]
        options = SolveOptions(
            solver=Solver.NEWTON if is_automatic else Solver(self.solver),
            iterations=self.iterations,
            tolerance=self.tolerance,
            use_flip_bend=self.use_flip_bend,
        )
        spec = ChainSpec(
            name=selected.bone,
            bone=selected.bone,
            chain_count=self.chain_count,
            use_tail=self.use_tail,
            use_rotation=self.use_rotation,
            rotation_bone=RotationBone.AUTO,
            target=selected.target,
            pole=selected.pole,
            negative_scale=NegativeScale(self.negative_scale),
            start_from=StartFrom.REST if self.use_rest_start else StartFrom.CURRENT,
            options=options,
            influence=self.influence,
        )
        if is_automatic and placement(selected.armature_object, spec).bone_count == 2:
            return replace(spec, options=replace(options, solver=Solver.TWO_BONE))
        return spec
