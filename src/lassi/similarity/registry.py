"""All kinds of directions, by name. To add one, write a module in ``kinds/`` and list it here."""

from lassi.base.errors import unknown
from lassi.data.dataset import Attribute
from lassi.similarity.kind import Kind
from lassi.similarity.kinds.decorrelated import Decorrelated
from lassi.similarity.kinds.discovered import Discovered
from lassi.similarity.kinds.first_to_last import FirstToLast
from lassi.similarity.kinds.mean_difference import MeanDifference
from lassi.similarity.kinds.pairs import Pairs
from lassi.similarity.kinds.perpendicular import Perpendicular

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (MeanDifference(), Pairs(), FirstToLast(), Perpendicular(), Decorrelated(), Discovered())
}


def kind_named(name: str) -> Kind:
    """The kind with this name."""
    if name not in KINDS:
        raise unknown("kind of directions", name, KINDS)
    return KINDS[name]


def simplest_kind(attribute: Attribute) -> str:
    """The kind that has one vector for this attribute and needs nothing else."""
    return MeanDifference.name if attribute.is_binary else FirstToLast.name
