"""What Blender prints in the window's session: complaints are seen, and nothing else is."""

import pytest

from tests.window.application import complaints

BAD = [
    "Traceback (most recent call last):",
    "Error: Python: the operator has failed",
    "UILayout.prop(): property not found: ForceSettings.gravitas",
    "rna_uiItemR: property not found: ForceSettings.gravitas",
    "bpy.rna          | ERROR Python script error in VIEW3D_PT_chain_ik_reach.draw",
    "Error: the message of this chain has no bone",
    "WARN (bpy.rna): chain_ik is registered already",
    "Error: Not freed memory blocks: 3, total unfreed memory 0.002 MB",
]
GOOD = [
    "00:00.745  system.path      | WARNING Could not get a list of mounted file-systems",
    "Reloading external rigs...",
    "Repository data: /tmp/profile/extensions/blender_org not found, sync required!",
    "ALSA lib confmisc.c:855:(parse_card) cannot find card '0': Unknown error",
    'Info: Saved as "session.blend"',
    "02:50.393  operator         | Baked 1 chain from frame 1 to 100",
    "Blender quit",
]


@pytest.mark.parametrize("line", BAD)
def test_a_complaint_is_found_with_what_follows_it(line):
    assert complaints([*GOOD, line, "the cause"]) == [f"{line}\nthe cause"]


def test_what_blender_always_prints_is_no_complaint():
    assert complaints(GOOD) == []
