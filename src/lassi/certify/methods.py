"""All certification methods, by name.

To add one, derive a class from :class:`lassi.certify.method.Method` and pass an instance to :func:`register`. Recipes,
results, tables, the page and ``--help`` take the methods from here.
"""

from collections.abc import Iterable

from lassi.base.errors import unknown
from lassi.certify.exact.joint import ExactJoint
from lassi.certify.exact.modular import ExactModular
from lassi.certify.method import AnyMethod
from lassi.certify.smoothed.joint import SmoothedJoint
from lassi.certify.smoothed.modular import SmoothedModular
from lassi.similarity.sets import SimilaritySet

EXACT_UP_TO = 3  # directions

METHODS: dict[str, AnyMethod] = {}


def register(method: AnyMethod) -> None:
    """Register a method under its name."""
    METHODS[method.name] = method


for _method in (SmoothedModular(), SmoothedJoint(), ExactJoint(), ExactModular()):
    register(_method)


def method_named(name: str) -> AnyMethod:
    """The method with this name."""
    if name not in METHODS:
        raise unknown("certificate", name, METHODS)
    return METHODS[name]


def refuse_unknown(names: Iterable[str]) -> None:
    """Refuse names that no method has."""
    for name in names:
        method_named(name)


def default_method(similar: SimilaritySet, *, under: str | None = None) -> str:
    """Exact along a few directions, smoothed along many; always exact under an edit."""
    is_exact = similar.rank <= EXACT_UP_TO or under is not None
    return ExactJoint.name if is_exact else SmoothedModular.name
