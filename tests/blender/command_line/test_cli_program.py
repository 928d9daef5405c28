"""The program beside Blender: it comes and goes with the extension, and refuses what is no file."""

from __future__ import annotations

import os

import pytest

from tests.blender.command_line.command_lines import needs_module, program, ran


def test_the_command_goes_when_the_extension_goes():
    import blender_ik_addon
    from blender_ik_addon import cli

    assert len(cli._registered) == 1
    try:
        blender_ik_addon.unregister()
        assert not cli._registered
    finally:
        blender_ik_addon.register()
    assert len(cli._registered) == 1


@pytest.mark.slow
@needs_module
def test_the_program_refuses_what_is_no_file_of_blender(tmp_path):
    text = tmp_path / "text.blend"
    text.write_text("no file of Blender")
    for path, reason in ((text, "no .blend file"), (tmp_path / "gone.blend", "does not exist")):
        code, out, err = ran(path, "report")
        assert (code, out) == (1, "")
        assert reason in err.splitlines()[-1]
        assert "Traceback" not in err
    assert os.path.basename(program()[0]).startswith("python")
