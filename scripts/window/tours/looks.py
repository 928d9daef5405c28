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
from pathlib import Path

import bpy
from mathutils import Vector

from examples.parts.rigs import hang_chain
from window import figure, shown
from window.driver import REDRAW, Session, check, select_bones
from window.tour import Tour

SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON", "FORCE", "FOLLOW")
TREE_SOLVERS = ("NEWTON", "FABRIK")
# Theme, scale and language; those with the longest words: labels that fit in them fit in others.
LOOKS = [*product(("dark", "light"), (1.0, 2.0), ("DEFAULT",))]
LOOKS += [("dark", 1.0, "hu_HU"), ("dark", 1.0, "pt_BR")]
# The chain that is active, where its target is, and how it is seen.
VIEWS = {
    "arm": ("Arm", figure.TARGETS["Arm"], (Vector((0.4, 0.0, 1.45)), 1.5)),
    "leg": ("Leg", figure.TARGETS["Arm"], (Vector((0.05, 0.0, 0.55)), 1.7)),
    "far": ("Arm", (1.25, -0.35, 1.75), (Vector((0.3, 0.0, 1.15)), 2.9)),
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
        figure.build()
        rig, arm = figure.rig(), figure.rig().chain_ik.chains[0]
        both = {"pole_target": arm.pole_target, "chain_count": 3, "mute": True}
        hang_chain(rig, "Whole Arm", "Arm.2", arm.target, **both)
        rig.chain_ik.chains[0].negative_scale = "KEEP"
        rig.pose.bones["Arm.1"].use_ik_limit_z = True

    def show_look(self, theme: str, scale: float, language: str) -> Session:
        """Take chains, panels and menus in one look."""
        name = self.dress(theme, scale, language)
        space, chains = self.viewport.area.spaces.active, figure.rig().chain_ik
        space.show_region_ui = False
        for what, (chain, target, seen) in VIEWS.items():
            bpy.data.objects["Arm Target"].location = target
            chains.active_index = chains.chains.find(chain)
            select_bones(figure.rig(), chains.chains[chain].bone)
            self.viewport.look(*seen, figure.ANGLES)
            yield REDRAW
            self.viewport.take_picture(name.with_name(f"{name.name}_{what}.png"))
        space.show_region_ui = True
        yield REDRAW
        yield from self.press_button("compare", "EXEC_DEFAULT")
        yield from shown.show_unfolded(self.viewport, name, self.solvers(), shown.PAGES)
        arm = figure.rig().chain_ik.chains[0]
        arm.solver, arm.bone = "NEWTON", LONG_NAME
        yield from shown.open_menus(self.viewport, name)
        details = partial(bpy.ops.wm.call_panel, name="VIEW3D_PT_chain_ik_details")
        yield from self.viewport.pop_up(shown.POPUP, details)
        yield from shown.close_up(self.viewport, name.with_name(f"{name.name}_details.png"))
        figure.rig().chain_ik.chains[0].bone = "Arm.1"
        yield from self.press_button("compare_clear")

    def solvers(self) -> Iterator[str]:
        """Yield each solver, set; with some of them both chains of the arm are one tree."""
        for solver in SOLVERS:
            arm, whole = figure.rig().chain_ik.chains[0], figure.rig().chain_ik.chains[-1]
            arm.solver = whole.solver = solver
            # Two live chains that share bones are one tree, if none of these slides.
            whole.mute = solver not in TREE_SOLVERS
            arm.joints[0].use_slide = whole.mute
            yield solver

    def show_bone_tab(self) -> Session:
        """Put a Properties editor beside the view, and take the tab of a bone."""
        figure.rig().chain_ik.chains[0].solver = "NEWTON"
        yield from self.viewport.open_properties("BONE", 0.6)
        bones = figure.rig().data.bones
        for look, bone in product(LOOKS[:4], ("Arm.0", "Arm.1")):
            name = self.dress(*look)
            bones.active = bones[bone]
            yield REDRAW
            name = name.with_name(f"{name.name}_bone_{bone}")
            yield from shown.take_pages(self.viewport, "WINDOW", name)

    def dress(self, theme: str, scale: float, language: str) -> Path:
        """Choose theme, scale and language of the interface; return how its pictures begin."""
        (path,) = (
            path
            for folder in bpy.utils.preset_paths("interface_theme")
            if (path := Path(folder) / f"Blender_{theme.title()}.xml").is_file()
        )
        menu = "USERPREF_MT_interface_theme_presets"
        bpy.ops.script.execute_preset(filepath=str(path), menu_idname=menu)
        view = bpy.context.preferences.view
        view.language, view.use_translate_interface, view.ui_scale = language, True, scale
        return self.folder / f"{theme}_{scale:g}_{language}"
