"""Take pictures of the sidebar and of the tab of a bone, with every solver, scale and theme.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/window/panel_pictures.py -- dist/chain_ik-<version>.zip out/panels

Each solver is drawn at interface scales of 1 and 2, in Blender's dark and light theme, and in the
languages of the longest words: the sidebar from its top down in as many pictures as it takes, with
all panels open; then the popover with the whole status, the menu beside the list, Pose > Inverse
Kinematics and the pie menu, and the tab of a bone. Somebody has to look at
them: that nothing is cut off or lies over something else cannot be told by a script. What it can
tell, it does: it ends with code 1 where Blender printed an error while it drew.

Needs what scripts/window/window_tour.py needs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bpy

# Blender puts the folder of a script that it runs on no path.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from window.driver import (
    REDRAW,
    Session,
    Viewport,
    check,
    play,
    read_paths,
    select_bones,
    use_theme,
)
from window.opening import MODULE, TAB, clear_scene, install

SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON", "FORCE", "FOLLOW")
TREE_SOLVERS = ("NEWTON", "FABRIK")
# Those with the longest words: labels that fit in them fit in the others.
LANGUAGES = ("hu_HU", "pt_BR")
SCALES = (1.0, 2.0)
THEMES = ("dark", "light")
JOINTS = ((0, 0, 0), (0.2, -0.5, 1), (0, 0, 2), (0.1, 0.3, 2.5))
FAR = (0.5, 0.0, 4.0)
MOST_PAGES = 6
# The status then takes more lines than the panel has.
LONG_NAME = "A bone that has a name of sixty characters, none of them short"


def make_arm() -> bpy.types.Object:
    """Replace the scene by an arm of three bones with two chains, a pole and a joint."""
    clear_scene()
    rig = bpy.data.objects.new("Arm", bpy.data.armatures.new("Arm"))
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    before = None
    for number, (head, tail) in enumerate(zip(JOINTS, JOINTS[1:], strict=False)):
        bone = rig.data.edit_bones.new(("Upper Arm", "Forearm", "Hand")[number])
        bone.head, bone.tail, bone.parent = head, tail, before
        bone.use_connect = before is not None
        before = bone
    bpy.ops.object.mode_set(mode="POSE")
    target, pole = (bpy.data.objects.new(name, None) for name in ("Hand Target", "Elbow Pole"))
    for control, place in ((target, FAR), (pole, (0, -2, 1))):
        bpy.context.scene.collection.objects.link(control)
        control.location = place
    for name, tip, count in (("Arm", "Forearm", 2), ("Whole Arm", "Hand", 3)):
        chain = rig.chain_ik.chains.add()
        chain.name, chain.target, chain.pole_target = name, target, pole
        chain.chain_count, chain.bone = count, tip
    rig.chain_ik.chains[1].mute = True
    # What the panels show only where it counts.
    rig.chain_ik.chains[0].negative_scale = "KEEP"
    rig.pose.bones["Forearm"].use_ik_limit_z = True
    joint = rig.chain_ik.chains[0].joints.add()
    joint.bone, joint.use_limit_x, joint.use_slide = "Upper Arm", True, True
    select_bones(rig, "Hand", "Forearm", "Upper Arm")
    return rig


def open_all_panels() -> None:
    """Have Blender open all panels, as nobody can click where no script knows the places."""
    package = sys.modules[MODULE]
    package.unregister()
    inverse_kinematics = bpy.types.BONE_PT_inverse_kinematics
    bpy.utils.unregister_class(inverse_kinematics)
    ours = [
        value
        for name, module in sys.modules.items()
        if name.startswith(f"{MODULE}.panels")
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, bpy.types.Panel)
    ]
    for panel in (inverse_kinematics, *ours):
        panel.bl_options = set(getattr(panel, "bl_options", ())) - {"DEFAULT_CLOSED"}
    bpy.utils.register_class(inverse_kinematics)
    package.register()


class Errors:
    """Stands for ``sys.stderr``, to which Blender prints what goes wrong while it draws."""

    def __init__(self) -> None:
        self.stream, self.text = sys.stderr, ""

    def write(self, text: str) -> int:
        """Print, and keep."""
        self.text += text
        return self.stream.write(text)

    def flush(self) -> None:
        """Flush what was printed."""
        self.stream.flush()


class Pictures:
    """The session: every method shows something and takes its pictures."""

    def __init__(self, zip_path: Path, folder: Path) -> None:
        self.zip_path, self.folder = zip_path, folder
        self.viewport = Viewport()
        self.errors = Errors()

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        sys.stderr = self.errors
        yield from install(self.viewport, self.zip_path)
        open_all_panels()
        with self.viewport.context():
            make_arm()
        # Only the panels are of interest, and without a graphics card drawing takes its time.
        space = self.viewport.area.spaces.active
        space.shading.type, space.overlay.show_overlays = "WIREFRAME", False
        for scale in SCALES:
            for theme in THEMES:
                yield from self.dress(scale, theme)
                for solver in SOLVERS:
                    yield from self.show_solver(solver, f"{theme}_{scale:g}_{solver.lower()}")
                yield from self.show_menus(f"{theme}_{scale:g}")
        yield from self.show_languages()
        yield from self.show_bone_tab()
        check("Traceback" not in self.errors.text, "An error was printed while panels were drawn.")
        print(f"The pictures are in {self.folder}.")

    def show_languages(self) -> Session:
        """Take the sidebar with every solver, and the menus, in other languages."""
        view = bpy.context.preferences.view
        english = view.language
        yield from self.dress(SCALES[0], THEMES[0])
        for language in LANGUAGES:
            view.language, view.use_translate_interface = language, True
            yield REDRAW
            for solver in SOLVERS:
                yield from self.show_solver(solver, f"{language}_{solver.lower()}")
            yield from self.show_menus(language)
        view.language = english

    def dress(self, scale: float, theme: str) -> Session:
        """Set the scale of the interface and its theme, and compare solvers."""
        use_theme(theme)
        bpy.context.preferences.view.ui_scale = scale
        yield REDRAW
        yield from self.viewport.show_tab(TAB)
        with self.viewport.context():
            bpy.ops.pose.chain_ik_compare()

    def show_solver(self, solver: str, name: str) -> Session:
        """Take the sidebar with a solver, page by page."""
        arm, whole = bpy.data.objects["Arm"].chain_ik.chains
        arm.solver = whole.solver = solver
        # Two live chains that share bones are one tree, if none of these slides.
        whole.mute = solver not in TREE_SOLVERS
        arm.joints[0].use_slide = whole.mute
        yield REDRAW
        yield from self.take_pages("UI", name)

    def show_menus(self, name: str) -> Session:
        """Take the popover, the menu and the pie menu, each in the middle of the view."""
        chain = bpy.data.objects["Arm"].chain_ik.chains[0]
        chain.solver, chain.bone = "NEWTON", LONG_NAME
        for what, call in (
            ("details", lambda: bpy.ops.wm.call_panel(name="VIEW3D_PT_chain_ik_details")),
            ("more", lambda: bpy.ops.wm.call_menu(name="VIEW3D_MT_chain_ik_more")),
            ("menu", lambda: bpy.ops.wm.call_menu(name="VIEW3D_MT_pose_ik")),
            ("pie", lambda: bpy.ops.wm.call_menu_pie(name="VIEW3D_MT_chain_ik_pie")),
        ):
            yield from self.viewport.pop_up(self.middle(), call)
            self.viewport.take_picture(self.folder / f"{name}_{what}.png")
            self.viewport.press("ESC")
            yield REDRAW
            chain = bpy.data.objects["Arm"].chain_ik.chains[0]
            chain.bone = "Forearm"
            yield REDRAW

    def middle(self) -> tuple[int, int]:
        """Return the middle of the view."""
        region = self.viewport.region("WINDOW")
        return region.x + region.width // 3, region.y + region.height // 2

    def show_bone_tab(self) -> Session:
        """Put a Properties editor beside the view, and take the tab of a bone."""
        rig = bpy.data.objects["Arm"]
        rig.chain_ik.chains[0].solver = "NEWTON"
        yield from self.viewport.open_properties("BONE", 0.6)
        for bone in ("Upper Arm", "Forearm"):
            rig.data.bones.active = rig.data.bones[bone]
            for scale in SCALES:
                for theme in THEMES:
                    yield from self.dress_bone_tab(scale, theme)
                    yield from self.take_pages("WINDOW", f"{theme}_{scale:g}_bone_{bone[:5]}")

    def dress_bone_tab(self, scale: float, theme: str) -> Session:
        """Set scale and theme while no sidebar is there."""
        use_theme(theme)
        bpy.context.preferences.view.ui_scale = scale
        yield REDRAW

    def take_pages(self, kind: str, name: str) -> Session:
        """Take a region from its top to its bottom, page by page."""
        for _ in range(MOST_PAGES):
            self.scroll(kind, up=True)
        yield REDRAW
        for page in range(MOST_PAGES):
            self.viewport.take_picture(self.folder / f"{name}_{page}.png")
            before = self.place(kind)
            self.scroll(kind, up=False)
            if self.place(kind) == before:
                return
            yield REDRAW

    def scroll(self, kind: str, *, up: bool) -> None:
        """Scroll a region up or down by a page."""
        region = self.viewport.region(kind)
        scroll = bpy.ops.view2d.scroll_up if up else bpy.ops.view2d.scroll_down
        with bpy.context.temp_override(
            window=self.viewport.window, area=self.viewport.area, region=region
        ):
            if scroll.poll():
                scroll(page=True)

    def place(self, kind: str) -> float:
        """Return where a region is scrolled to."""
        return float(self.viewport.region(kind).view2d.region_to_view(0, 0)[1])


def main() -> None:
    """Read the arguments and start the session."""
    zip_path, folder = read_paths("the zip, a folder for pictures")
    play(Pictures(zip_path, folder).steps())


if __name__ == "__main__":
    main()
