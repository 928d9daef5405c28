"""The operators of the extension."""

from ..registration import make_registration

register, unregister = make_registration(
    __name__,
    *("add", "characters.set_up", "characters.mirror", "characters.whole_body", "chains"),
    *("creatures", "joints", "matching.snap", "matching.apply", "matching.switch"),
    *("matching.switch_space", "presets", "solve", "bake", "convert", "compare", "clips.plant"),
    *("drags.placing", "drags.turning", "drags.limits"),
)
