"""Files of older versions: a low cap of FABRIK and CCD still shows the bare sweeps."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import reopen

OLD = Path(__file__).parents[2] / "data" / "caps_before_finish.blend"
BARE = {"FABRIK 10": False, "CCD 20": False, "FABRIK 21": True, "NEWTON 10": True}


def finishes(name: str = "Rig") -> dict[str, bool]:
    return {chain.name: chain.use_finish for chain in bpy.data.objects[name].chain_ik.chains}


def test_caps_of_an_older_file_leave_the_finish_out_and_what_is_set_or_new_is_kept(tmp_path):
    bpy.ops.wm.open_mainfile(filepath=str(OLD))
    assert finishes() == BARE
    bpy.data.objects["Rig"].chain_ik.chains["FABRIK 10"].use_finish = True
    chain = rigs.make_rig(name="New").chain_ik.chains.add()
    chain.name, chain.solver, chain.iterations = "Low", "FABRIK", 10
    reopen(tmp_path / "new.blend")
    assert finishes() == {**BARE, "FABRIK 10": True}
    assert finishes("New") == {"Low": True}


@pytest.mark.skipif(
    not hasattr(bpy.app.handlers, "blend_import_post"), reason="nothing tells of what is appended"
)
@pytest.mark.parametrize("link", [False, True])
def test_what_comes_from_an_older_file_leaves_the_finish_out(link):
    with bpy.data.libraries.load(str(OLD), link=link) as (_, wanted):
        wanted.objects = ["Rig"]
    assert finishes() == BARE
