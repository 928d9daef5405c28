"""The preferences as Blender stores and shows them."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty

from ..properties.choices import LABEL_CONTEXT, NEW_CHAIN_SETTINGS, SOLVERS
from ..properties.settings import like_setting
from . import logs, pie_key

PACKAGE = __package__.rpartition(".")[0]
"""Name of the extension's package, which depends on where it is installed."""
# Two-Bone solves two bones only. Follow starts from its last pose, so only users choose it.
SOLVERS_OF_MORE = tuple([item for item in SOLVERS if item[0] not in ("TWO_BONE", "FOLLOW")])
SOLVERS_OF_TWO = tuple([item for item in SOLVERS if item[0] != "FOLLOW"])
POLES = (
    ("TWO", "Two Bones", "Chains of two bones get a pole, for example arms and legs"),
    ("ALWAYS", "Always", "Every new chain gets a pole"),
    ("NEVER", "Never", "No new chain gets a pole"),
)
CONTROLS = (
    ("BONE", "Bones", "Bones of the same armature, so that you can pose everything in Pose Mode"),
    ("EMPTY", "Empties", "Empty objects"),
)
_NEW_CHAIN_FIELDS = ("solver_of_two", "solver", *NEW_CHAIN_SETTINGS, "pole", "control")
COLOURS = (
    *("idle_colour", "reached_colour", "held_colour", "missed_colour"),
    *("reach_colour", "pole_colour", "limit_colour"),
)
_WIDTHS = ("line_width", "ghost_width", "joint_size")


def _colour(name: str, description: str, default: tuple[float, float, float]) -> Any:
    return FloatVectorProperty(
        name=name,
        description=description,
        subtype="COLOR_GAMMA",
        default=default,
        min=0.0,
        max=1.0,
        options=set(),
    )


def _pixels(name: str, description: str, default: float, maximum: float) -> Any:
    return FloatProperty(
        name=name,
        description=description,
        default=default,
        min=1.0,
        max=maximum,
        subtype="PIXEL",
        options=set(),
    )


def _set_level(stored: ChainPreferences, _context: bpy.types.Context) -> None:
    logs.set_level(stored.log_level)


class ChainPreferences(bpy.types.AddonPreferences):
    """The preferences of the extension."""

    bl_idname = PACKAGE

    solver_of_two: EnumProperty(
        name="Solver, Two Bones",
        description="Solver of new chains of two bones that share no bones with other chains",
        translation_context=LABEL_CONTEXT,
        items=SOLVERS_OF_TWO,
        default="TWO_BONE",
        options=set(),
    )
    solver: EnumProperty(
        name="Solver, Others",
        description="Solver of all other new chains. Chains that share bones use Newton if this"
        " solver cannot solve them",
        translation_context=LABEL_CONTEXT,
        items=SOLVERS_OF_MORE,
        default="NEWTON",
        options=set(),
    )
    start_from: like_setting("start_from", "The pose that each update of new chains starts from")
    use_limits: like_setting(
        "use_limits", "Keep the bones of new chains within their own IK locks, limits and stiffness"
    )
    tolerance: like_setting(
        "tolerance",
        "Largest distance at which the target of a new chain counts as reached, in scene units",
    )
    iterations: like_setting(
        "iterations", "Maximum number of iterations of new chains in one update"
    )
    pole: EnumProperty(
        name="Add Pole",
        description="Chains that get a pole from Add Chain. Set Up Limbs adds a pole to limbs that"
        " need one",
        items=POLES,
        default="TWO",
        options=set(),
    )
    control: EnumProperty(
        name="Controls",
        description="Type of new targets and poles",
        items=CONTROLS,
        default="BONE",
        options=set(),
    )
    use_theme_colours: BoolProperty(
        name="Theme Colors",
        description="Draw chains in the colors of the theme. Off: use the colors below",
        default=True,
        options=set(),
    )
    idle_colour: _colour(
        "Not Solved", "Color of a chain that has not been solved", (0.75, 0.75, 0.75)
    )
    reached_colour: _colour(
        "Reached",
        "Color of a chain at its target, or kept short of it by its soft distance",
        (0.25, 0.75, 0.35),
    )
    held_colour: _colour(
        "Limited",
        "Color of a chain that limits hold back, or whose bones stretch",
        (0.95, 0.65, 0.15),
    )
    missed_colour: _colour(
        "Out of Reach", "Color of a chain whose target is too far or too near", (0.95, 0.25, 0.2)
    )
    reach_colour: _colour("Reach", "Color of the space that a chain can reach", (0.4, 0.6, 0.9))
    pole_colour: _colour("Pole", "Color of the line and plane of a pole", (0.75, 0.5, 0.95))
    limit_colour: _colour("Joint Limits", "Color of the limits of joints", (0.95, 0.85, 0.3))
    line_width: _pixels(
        "Line Width",
        "Width of the lines of chains, in pixels at an interface scale of 1",
        3.0,
        10.0,
    )
    ghost_width: _pixels(
        "Ghost Width",
        "Width of the lines of compared solvers, in pixels at an interface scale of 1",
        2.0,
        10.0,
    )
    joint_size: _pixels(
        "Joint Size",
        "Size of joints, in pixels at an interface scale of 1",
        7.5,
        30.0,
    )
    log_level: EnumProperty(
        name="Log",
        description="Messages that are written to the console",
        translation_context=LABEL_CONTEXT,
        items=logs.LEVELS,
        default="WARNING",
        options=set(),
        update=_set_level,
    )

    def draw(self, _context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        box = layout.box()
        box.label(text="New Chains")
        _draw_all(box, self, _NEW_CHAIN_FIELDS)
        box = layout.box()
        box.label(text="Viewport")
        _draw_all(box, self, (*_WIDTHS, "use_theme_colours"))
        column = box.column()
        column.active = not self.use_theme_colours
        for name in COLOURS:
            column.prop(self, name)
        box = layout.box()
        box.label(text="Pie Menu")
        pie_key.draw(box)
        box = layout.box()
        box.label(text="Console")
        _draw_all(box, self, ("log_level",))


def _draw_all(layout: bpy.types.UILayout, stored: ChainPreferences, names: tuple[str, ...]) -> None:
    column = layout.column()
    for name in names:
        column.prop(stored, name)


class _Defaults:
    """The defaults, used if a script, a test or the command line has registered the extension."""

    def __getattr__(self, name: str) -> Any:
        field = cast(Any, ChainPreferences).bl_rna.properties.get(name)
        if field is None:
            raise AttributeError(name)
        return tuple(field.default_array) if getattr(field, "is_array", False) else field.default


def preferences(context: bpy.types.Context | None = None) -> ChainPreferences:
    """Return the preferences of the user, or the defaults if there are none."""
    user = (context or bpy.context).preferences
    entry = None if user is None else user.addons.get(PACKAGE)
    stored = None if entry is None else entry.preferences
    return cast(ChainPreferences, stored or _Defaults())


def gets_pole(context: bpy.types.Context, bone_count: int) -> bool:
    """Tell whether a new chain with this number of bending bones gets a pole."""
    pole = preferences(context).pole
    return pole == "ALWAYS" or (pole == "TWO" and bone_count == 2)
