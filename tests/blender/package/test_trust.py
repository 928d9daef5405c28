"""Code that a file brings along runs on the command line only where its user has allowed it."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from blender_ik_addon.cli import jobs
from tests.blender.command_line.command_lines import (
    make_rope,
    make_scene,
    save,
)
from tests.blender.package.installed import Installed, built, install, run
from tests.blender.setups import rigs

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

needs_application = pytest.mark.skipif(
    not bpy.app.binary_path, reason="Blender as a module reads no preferences and no startup files"
)
KINDS = {"driver", "text", "handler"}
# A part of two processes begins after it.
APPEARS_AT = 4
TEXT = """
import bpy

def mark(kind):
    open({folder!r} + "/" + kind, "a").close()

def register():
    mark("text")
    bpy.app.handlers.frame_change_post.append(lambda *given: mark("handler"))

if __name__ == "__main__":
    register()
"""
COMMANDS = {
    "solve": ("solve", "--frames", APPEARS_AT, "--output", "out.blend", "--accept-unreached"),
    "report, two jobs": ("report", "--jobs", 2, "--accept-unreached"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Installed:
    folder = tmp_path_factory.mktemp("trust")
    return install(built(folder), folder)


def make_file(folder: Path, kinds: set[str] = KINDS) -> Path:
    """Return a file with code in a driver that sleeps at first, in a text and in its handler."""
    make_scene()
    make_rope("Rope", 6.0)
    marks = folder / "marks"
    marks.mkdir()
    if "driver" in kinds:
        hidden = rigs.make_empty("Hidden")
        rigs.key(hidden, "hide_viewport", {1: True, APPEARS_AT: False})
        driver = hidden.driver_add("location", 0).driver
        driver.expression = f"open({str(marks / 'driver')!r}, 'a').close() or frame"
    if "text" in kinds:
        text = bpy.data.texts.new("rig_ui.py")
        text.write(TEXT.format(folder=str(marks)))
        text.use_module = True
    return save(folder / "scene.blend")


def run_kinds(program: Installed, file: Path, name: str, *flags: str) -> set[str]:
    """Return the kinds of code that a command has run."""
    for mark in (file.parent / "marks").iterdir():
        mark.unlink()
    command = program.line(file, *COMMANDS[name], flags=flags)
    if not bpy.app.binary_path:
        # Python looks first in the folder in which it starts, unless it is told not to.
        module = f"open({str(file.parent / 'marks' / 'module')!r}, 'a').close()"
        (file.parent / "json.py").write_text(module)
        command.insert(1, "-P")
    run(command, program.variables, file.parent)
    return {mark.name for mark in (file.parent / "marks").iterdir()}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("solve", KINDS),
        ("report, two jobs", {"driver"}),
        ("report, two jobs", {"text", "handler"}),
    ],
)
def test_no_command_runs_code_of_a_file_that_is_not_trusted(program, tmp_path, name, kinds):
    """A text is refused as the file opens; nothing is refused of a driver while it sleeps.

    Nor do parts of a command import what lies in the folder in which they start.
    """
    assert run_kinds(program, make_file(tmp_path, kinds), name) == set()


def test_a_command_runs_the_code_of_a_file_that_is_trusted(program, tmp_path):
    """Without it the test above would see nothing."""
    assert run_kinds(program, make_file(tmp_path), "report, two jobs", "-y") == KINDS


@needs_application
@pytest.mark.parametrize("is_excluded", [False, True])
def test_parts_trust_as_the_preferences_say(program, tmp_path, is_excluded):
    file = make_file(tmp_path)
    excluded = f"paths.new().path = {str(tmp_path)!r}" if is_excluded else "paths"
    prefer = (
        "import bpy; preferences = bpy.context.preferences;"
        " preferences.filepaths.use_scripts_auto_execute = True;"
        f" paths = preferences.autoexec_paths; {excluded}; bpy.ops.wm.save_userpref()"
    )
    own = install(built(tmp_path), tmp_path)
    run([bpy.app.binary_path, "-b", "--python-expr", prefer], own.variables)
    expected = set() if is_excluded else KINDS
    for name in ("report, two jobs", "solve"):
        assert run_kinds(own, file, name) == expected


@needs_application
def test_parts_of_a_factory_startup_start_so_too(program, tmp_path):
    """They would load the user's add-ons and preferences."""
    start = jobs.start()
    assert start[2:5] == ["--factory-startup", "--addons", "blender_ik_addon"]
    file = make_file(tmp_path, {"driver"})
    flags = ("--factory-startup", "--addons", "bl_ext.user_default.chain_ik")
    assert run_kinds(program, file, "report, two jobs", *flags) == set()
