"""Blender for the tests: the add-on is registered once; each test starts with an empty file."""

import os
import shutil
import sys
from collections.abc import Iterator

import bpy
import pytest


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Path of a saved copy of Blender's empty file: it loads in half the time."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    workspace = bpy.context.window.workspace
    bpy.data.batch_remove([item for item in bpy.data.workspaces if item != workspace])
    screens = set(workspace.screens)
    bpy.data.batch_remove([screen for screen in bpy.data.screens if screen not in screens])
    path = str(tmp_path_factory.mktemp("home") / "empty.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    return path


@pytest.fixture(scope="session", autouse=True)
def registered_addon(empty_file: str) -> Iterator[None]:
    """The add-on from the checkout, registered as Blender would."""
    import blender_ik_addon

    blender_ik_addon.register()
    yield
    blender_ik_addon.unregister()


@pytest.fixture(autouse=True)
def empty_scene(registered_addon: None, empty_file: str) -> None:
    """A file with one empty scene. Keeps add-ons, unlike read_factory_settings.

    Registers the add-on if a failed test left it off: the following tests do not fail as well.
    """
    import blender_ik_addon

    if not hasattr(bpy.types.Object, "chain_ik"):
        blender_ik_addon.register()
    bpy.ops.wm.read_homefile(filepath=empty_file)


@pytest.fixture(scope="module")
def rigify(registered_addon: None) -> Iterator[None]:
    """Rigify, enabled as a user enables it, and disabled after the module's tests."""
    # The import works only after that of bpy.
    import addon_utils

    addon_utils.enable("rigify", default_set=True)
    yield
    addon_utils.disable("rigify", default_set=True)


@pytest.fixture(params=["of their root bones", "of their armatures"])
def space_of_trees(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve trees in one space, then in the other: most tests expect the same of both."""
    from tests.blender.setups.tree_rigs import in_armatures

    if request.param == "of their armatures":
        in_armatures(monkeypatch)


@pytest.fixture
def view() -> Iterator[bpy.types.Context]:
    """The context of the first viewport."""
    from tests.blender.gizmos.grabbed import in_viewport

    with in_viewport() as context:
        yield context


@pytest.fixture
def seen() -> Iterator[None]:
    """A context in which the first viewport is drawn."""
    from tests.blender.overlay.viewports import in_viewport

    with in_viewport():
        yield


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config._chain_ik_exit_code = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End the process without Python's own cleanup if Blender is a Python module.

    A PropertyGroup that ever had an update callback makes the 4.2 module crash at the normal end
    of the process, even after it is unregistered; 4.5 can hang there.
    """
    is_application = bool(bpy.app.binary_path)
    if is_application:
        return
    shutil.rmtree(bpy.app.tempdir, ignore_errors=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(getattr(config, "_chain_ik_exit_code", 0))
