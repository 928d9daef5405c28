"""Promise 6 for all settings and channels: one bad value stops one chain, which says why.

The settings come from Blender's lists of properties, so new settings are tested too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, spoiling
from tests.blender.setups.spoiling import Place, assert_is_advice

pytestmark = [pytest.mark.slow, pytest.mark.oldest]
PLACES = ((0.6, 0.5, 1.2), (0.9, -0.4, 1.0))
OUTCOMES = re.compile(
    "Reached|Out of reach|Too near|Stopped|Held back|Kept|Part of the way|On its way|Muted|"
    "FK:|Outweighed|Points at|Turned like"
)


class Watch:
    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self._turns = 0
        self.faults: list[str] = []
        self.is_posed = False

    def check(self, what: str, spoiled: Place | None) -> None:
        self._turns += 1
        good, target = bpy.data.objects["Good"], bpy.data.objects["Good Target"]
        rigs.change(target, location=PLACES[self._turns % 2])
        printed = self._capfd.readouterr().err
        if "Traceback" in printed:
            self.faults.append(f"{what}: {printed.strip().splitlines()[-1]}")
        miss = np.linalg.norm(rigs.tail(good, "Bone.1") - rigs.position(target))
        if not miss <= rigs.TARGET_GAP:
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

    def _status(self) -> str:
        status: str = bpy.data.objects["Bad"].chain_ik.chains["Bad"].status
        # The test poses bones by hand.
        return (self.is_posed and status.partition(" to pose by hand. ")[2]) or status

    def check_status(self, what: str, label: str = "") -> None:
        """Note a status that neither names the outcome of the solve nor gives advice."""
        status = self._status()
        if not label and OUTCOMES.match(status):
            return
        try:
            assert_is_advice(status, label)
        except AssertionError:
            self.faults.append(f"{what}: the status is {status[:90]!r}, to name {label!r}")

    def spoil(self, place: Place, what: str, values: Iterable[object]) -> int:
        """Set bad values, restore the old one, and count the statuses that name a NaN setting."""
        before, named = place.get(), 0
        for value in values:
            place.set(value)
            change = f"{what} = {str(value)[:12]}"
            self.check(change, place)
            is_refused = not OUTCOMES.match(self._status())
            is_named = place.index < 0 and value is spoiling.NAN and is_refused
            self.check_status(change, place.label if is_named else "")
            named += is_named
        place.set(before)
        self.check(f"{what} mended", None)
        self.check_status(f"{what} mended")
        return named


@pytest.fixture
def watch(capfd) -> Watch:
    return Watch(capfd)


# One kind of all that are read in the same way.
@pytest.mark.parametrize("kind", ["joints", "gradual", "Follow", "stretch", "tree"])
def test_no_setting_stops_more_than_its_own_chain(kind, watch):
    """The status names a NaN setting by its label in the panel."""
    spoiling.make_scene(kind)
    watch.check("nothing spoiled", None)
    places = list(spoiling.settings_of("Bad", 'chain_ik.chains["Bad"]'))
    assert {"influence", "target", "stored_pose", "creature"} <= {place.name for place in places}
    labels_read = 0
    for place in [place for place in places if place.name != "name"]:
        what, values = f"{place.path} {place.name}", spoiling.bad_values(place)
        labels_read += watch.spoil(place, what, values)
    assert not watch.faults, watch.first()
    assert labels_read >= 3


@pytest.mark.parametrize("kind", ["current", "joints", "Follow", "stretch"])
def test_no_channel_stops_more_than_the_chains_that_hang_on_it(kind, watch):
    spoiling.make_scene(kind)
    watch.check("nothing spoiled", None)
    watch.is_posed = True
    owners = [(name, "") for name in ("Bad", "Above", "Bad Target", "Bad Pole")]
    owners += [("Bad", f'pose.bones["{bone}.0"]') for bone in ("Above", "Bone", "Other")]
    owners += [("Bad", f'pose.bones["Bone.{i}"]') for i in (1, 3)]
    for place in [place for owner in owners for place in spoiling.channels_of(*owner)]:
        what = f"{place.owner} {place.path} {place.name}[{place.index}]"
        watch.spoil(place, what, spoiling.BAD_FLOATS)
    assert not watch.faults, watch.first()
