"""Mean latent of the positives minus mean latent of the negatives. (Kingma and Dhariwal, 2018.)"""

from lassi.similarity.kind import Computed, Kind, Material
from lassi.similarity.moments import first_to_last, moments_of


class MeanDifference(Kind):
    """The paper's default."""

    name = "mean-difference"
    meaning = "One step from the average person without the attribute to the average person with it."

    def compute(self, material: Material) -> Computed:
        moments = moments_of(material)
        return Computed(first_to_last(moments), moments.relative_error(0, 1))
