"""Mean latent of an attribute's last value minus that of its first."""

from lassi.similarity.kind import Computed, Kind, Material
from lassi.similarity.moments import first_to_last, moments_of


class FirstToLast(Kind):
    """One vector for an attribute with many values."""

    name = "first-to-last"
    meaning = "One step from the average person with an attribute's first value to the average person with its last."
    takes_many_values = True

    def compute(self, material: Material) -> Computed:
        moments = moments_of(material)
        return Computed(first_to_last(moments), moments.relative_error(0, len(moments.counts) - 1))
