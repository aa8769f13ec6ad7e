"""A plugin of pytest: a property that fails is not made smaller, which takes longer than to find it."""

from hypothesis import Phase, settings

settings.register_profile(
    "without_shrinking", settings.default, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("without_shrinking")
