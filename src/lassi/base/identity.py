"""What an artefact is made from, and the hashes by which artefacts refer to each other."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


def digest(content: object) -> str:
    """A hash of anything that JSON can represent; equal for equal content, regardless of the order of keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    as_read_back = json.loads(json.dumps(content, allow_nan=False))  # keys become strings before they are sorted
    text = json.dumps(as_read_back, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def array_hash(array: NDArray[Any]) -> str:
    """A hash of the bytes of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


@dataclass(frozen=True)
class Identity:
    """What an artefact is made from.

    Args:
        stage: the kind of artefact, such as ``"flow"``.
        version: the version of the stage's code, increased whenever its results change.
        settings: everything the user chose, in a form that JSON can represent.
        parents: the fingerprint of each artefact or dataset it was made from, by role.
        seed: the seed of its random streams, if it has any.
    """

    stage: str
    version: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.as_json())

    def as_json(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "version": self.version,
            "settings": dict(self.settings),
            "parents": dict(self.parents),
            "seed": self.seed,
        }


def differences(there: Identity, asked: Identity) -> str:
    """What distinguishes two identities, in a few words.

    >>> differences(Identity("flow", 1, {"training": {"steps": 20}}), Identity("flow", 1, {"training": {"steps": 21}}))
    'settings.training.steps is 20, not 21'
    """
    changed = list(differing(there.as_json(), asked.as_json()).values())
    return "; ".join(changed[:3]) + (f"; and {len(changed) - 3} more" if len(changed) > 3 else "")


def differing(there: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, str]:
    """The keys in which two trees of tables differ, each with a few words about it.

    >>> differing({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}})
    {'a.c': 'a.c is 2, not 3'}
    """
    one, other = _flat(there), _flat(asked)
    changed = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    return {key: f"{key} is {_brief(one.get(key))}, not {_brief(other.get(key))}" for key in changed}


def _flat(tree: object, above: str = "") -> dict[str, Any]:
    inside = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list) else None
    if inside is None:
        return {above: tree}
    return {
        key: leaf
        for name, part in inside
        for key, leaf in _flat(part, f"{above}.{name}" if above else f"{name}").items()
    }


def _brief(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:12]}…"
