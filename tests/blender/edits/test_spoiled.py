"""Promise 6, tried on everything that can be set: one bad value stops one chain, and it says why.

What can be spoiled is read from Blender's own lists of properties, so new settings are tried too.
"""

from __future__ import annotations

import math
import re

import bpy
import numpy as np
import pytest

from tests.blender.rig.test_rig_bad_input import assert_is_advice
from tests.blender.setups import rigs, spoiling
from tests.blender.setups.spoiling import KINDS, Place

pytestmark = [pytest.mark.slow, pytest.mark.oldest]
every_kind = pytest.mark.parametrize("kind", KINDS)
PLACES = ((0.6, 0.5, 1.2), (0.9, -0.4, 1.0))
SAYS_HOW_IT_ENDED = re.compile(
    "Reached|Out of reach|Too near|Stopped|Held back|Kept|Part of the way|On its way|Muted|"
    "Influence is zero|Outweighed|Points at|Turned as"
)


class Watch:
    """Looks for what a spoiled value must never do."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self._turns = 0
        self.faults: list[str] = []
        self.is_posed = False

    def check(self, what: str, spoiled: Place | None) -> None:
        """Move the good target, update, and note what is wrong."""
        self._turns += 1
        good, target = bpy.data.objects["Good"], bpy.data.objects["Good Target"]
        target.location = PLACES[self._turns % 2]
        bpy.context.view_layer.update()
        printed = self._capfd.readouterr().err
        if "Traceback" in printed:
            self.faults.append(f"{what}: {printed.strip().splitlines()[-1]}")
        miss = np.linalg.norm(rigs.tail(good, "Bone.1") - rigs.position(target))
        if not miss <= rigs.REACHED:
            self.faults.append(f"{what}: the good chain is {miss:.3g} off")
        allowed = set()
        if spoiled is not None and spoiled.index >= 0:
            bone = re.search(r'\["(.*)"\]', spoiled.path)
            allowed = {f"{spoiled.owner}.{bone[1] if bone else ''}.{spoiled.name}"}
        spread = spoiling.not_finite() - allowed
        if spread:
            self.faults.append(f"{what}: not finite {sorted(spread)}")

    def first(self) -> str:
        return "\n".join(self.faults[:12]) + f"\n{len(self.faults)} in all"

    def check_status(self, what: str, label: str = "") -> None:
        """Note a status that says neither how the solve has ended nor what to do."""
        status = bpy.data.objects["Bad"].chain_ik.chains["Bad"].status
        if self.is_posed:
            # The test poses bones by hand.
            status = status.partition(" to pose by hand. ")[2] or status
        if not label and SAYS_HOW_IT_ENDED.match(status):
            return
        try:
            assert_is_advice(status, label)
        except AssertionError:
            self.faults.append(f"{what}: the status is {status[:90]!r}, to name {label!r}")


@pytest.fixture
def watch(capfd) -> Watch:
    return Watch(capfd)


@every_kind
def test_no_setting_stops_more_than_its_own_chain(kind, watch):
    spoiling.make_scene(kind)
    watch.check("nothing spoiled", None)
    places = list(spoiling.settings_of("Bad", 'chain_ik.chains["Bad"]'))
    assert {"influence", "target", "stored_pose", "creature"} <= {place.name for place in places}
    for place in places:
        before = place.get()
        for value in spoiling.bad_values(place):
            what = f"{place.path} {place.name} = {str(value)[:12]}"
            if place.name == "name":
                continue
            place.set(value)
            watch.check(what, place)
            watch.check_status(what)
            place.set(before)
        watch.check(f"{place.name} mended", None)
        watch.check_status(f"{place.name} mended")
    assert not watch.faults, watch.first()


@every_kind
def test_a_number_that_is_none_is_named_as_in_the_panel(kind, watch):
    spoiling.make_scene(kind)
    read = 0
    for place in spoiling.settings_of("Bad", 'chain_ik.chains["Bad"]'):
        if not isinstance(place.get(), float):
            continue
        before = place.get()
        place.set(math.nan)
        watch.check(f"{place.name} = nan", place)
        chain = bpy.data.objects["Bad"].chain_ik.chains["Bad"]
        if not SAYS_HOW_IT_ENDED.match(chain.status):
            read += 1
            watch.check_status(f"{place.name} = nan", place.label)
        place.set(before)
        watch.check(f"{place.name} mended", None)
        watch.check_status(f"{place.name} mended")
    assert not watch.faults, watch.first()
    assert read >= 3


@every_kind
def test_no_channel_stops_more_than_the_chains_that_hang_on_it(kind, watch):
    spoiling.make_scene(kind)
    watch.check("nothing spoiled", None)
    watch.is_posed = True
    bones = bpy.data.objects["Bad"].pose.bones.keys()
    places = [
        place
        for name in ("Bad", "Above", "Bad Target", "Bad Pole")
        for place in spoiling.channels_of(name)
    ]
    places += [
        place for bone in bones for place in spoiling.channels_of("Bad", f'pose.bones["{bone}"]')
    ]
    for place in places:
        before = place.get()
        for value in spoiling.BAD_FLOATS:
            what = f"{place.owner} {place.path} {place.name}[{place.index}] = {value}"
            place.set(value)
            watch.check(what, place)
            watch.check_status(what)
        place.set(before)
        watch.check(f"{place.owner} {place.path} {place.name} mended", None)
        watch.check_status(f"{place.owner} {place.path} {place.name} mended")
    assert not watch.faults, watch.first()
