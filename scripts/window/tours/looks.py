"""All that the extension shows, in both themes, small and large, and in the longest languages.

Somebody has to look at the pictures: that nothing is cut off or lies over something else cannot be
told by a script. What it can tell, it does: it fails where Blender printed an error while it drew.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from functools import partial
from itertools import product

import bpy
from mathutils import Vector

from window import figure, shown
from window.driver import REDRAW, Session, check, select_bones, use_theme
from window.tour import Tour

SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON", "FORCE", "FOLLOW")
TREE_SOLVERS = ("NEWTON", "FABRIK")
# Theme, scale and language; those with the longest words: labels that fit in them fit in others.
LOOKS = [*product(("dark", "light"), (1.0, 2.0), ("DEFAULT",))]
LOOKS += [("dark", 1.0, "hu_HU"), ("dark", 1.0, "pt_BR")]
# The chain that is active, where its target is, and how it is seen.
FAR = Vector((1.25, -0.35, 1.75))
NEAR_ARM, NEAR_LEG = (Vector((0.4, 0.0, 1.45)), 1.5), (Vector((0.05, 0.0, 0.55)), 1.7)
ALL = (Vector((0.3, 0.0, 1.15)), 2.9)
VIEWS = {
    "arm": (0, figure.TARGETS["Arm"], NEAR_ARM),
    "leg": (1, figure.TARGETS["Arm"], NEAR_LEG),
    "far": (0, FAR, ALL),
}
# The status then takes more lines than the panel has.
LONG_NAME = "A bone that has a name of sixty characters, none of them short"


class Steps(Tour):
    """Every method shows something and takes its pictures."""

    ui_scale = 1.0

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.install()
        with contextlib.redirect_stderr(io.StringIO()) as said:
            shown.unfold(bpy.types.BONE_PT_inverse_kinematics)
            with self.viewport.context():
                self.build()
            for look in LOOKS:
                yield from self.show_look(*look)
            yield from self.show_bone_tab()
        print(said.getvalue())
        check("Traceback" not in said.getvalue(), "An error was printed while all was drawn.")

    def build(self) -> None:
        """Build the figure, with a second chain on its arm and what panels show only for that."""
        rig = figure.build()
        rig.chain_ik.chains.add()
        arm, whole = rig.chain_ik.chains[0], rig.chain_ik.chains[-1]
        whole.name, whole.target, whole.pole_target = "Whole Arm", arm.target, arm.pole_target
        whole.chain_count, whole.bone, whole.mute = 3, "Arm.2", True
        arm.negative_scale = "KEEP"
        rig.pose.bones["Arm.1"].use_ik_limit_z = True

    def show_look(self, theme: str, scale: float, language: str) -> Session:
        """Take chains, panels and menus in one look."""
        name = self.folder / f"{theme}_{scale:g}_{language}"
        view, space = bpy.context.preferences.view, self.viewport.area.spaces.active
        view.language, view.use_translate_interface = language, True
        self.dress(theme, scale)
        space.show_region_ui = False
        for what, (index, target, seen) in VIEWS.items():
            bpy.data.objects["Arm Target"].location = target
            self.rig.chain_ik.active_index = index
            select_bones(self.rig, self.rig.chain_ik.chains[index].bone)
            self.viewport.look(*seen, figure.ANGLES)
            yield REDRAW
            self.viewport.take_picture(name.with_name(f"{name.name}_{what}.png"))
        space.show_region_ui = True
        yield REDRAW
        yield from self.press_button("compare", "EXEC_DEFAULT")
        yield from shown.show_unfolded(self.viewport, name, self.solvers(), shown.PAGES)
        arm = self.rig.chain_ik.chains[0]
        arm.solver, arm.bone = "NEWTON", LONG_NAME
        yield from shown.open_menus(self.viewport, name)
        details = partial(bpy.ops.wm.call_panel, name="VIEW3D_PT_chain_ik_details")
        yield from self.viewport.pop_up(shown.POPUP, details)
        yield from shown.close_up(self.viewport, name.with_name(f"{name.name}_details.png"))
        self.rig.chain_ik.chains[0].bone = "Arm.1"
        yield from self.press_button("compare_clear")

    def solvers(self) -> Iterator[str]:
        """Yield each solver, set; with some of them both chains of the arm are one tree."""
        for solver in SOLVERS:
            arm, whole = self.rig.chain_ik.chains[0], self.rig.chain_ik.chains[-1]
            arm.solver = whole.solver = solver
            # Two live chains that share bones are one tree, if none of these slides.
            whole.mute = solver not in TREE_SOLVERS
            arm.joints[0].use_slide = whole.mute
            yield solver

    def show_bone_tab(self) -> Session:
        """Put a Properties editor beside the view, and take the tab of a bone."""
        self.rig.chain_ik.chains[0].solver = "NEWTON"
        bpy.context.preferences.view.language = "DEFAULT"
        yield from self.viewport.open_properties("BONE", 0.6)
        for theme, scale, _ in LOOKS[:4]:
            self.dress(theme, scale)
            for bone in ("Arm.0", "Arm.1"):
                self.rig.data.bones.active = self.rig.data.bones[bone]
                yield REDRAW
                name = self.folder / f"{theme}_{scale:g}_bone_{bone}"
                yield from shown.take_pages(self.viewport, "WINDOW", name)

    def dress(self, theme: str, scale: float) -> None:
        """Choose a theme and the scale of the interface."""
        use_theme(theme)
        bpy.context.preferences.view.ui_scale = scale

    @property
    def rig(self) -> bpy.types.Object:
        """The figure."""
        return bpy.data.objects["Figure"]
