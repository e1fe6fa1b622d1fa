"""JSON documents that are almost right: a value replaced, removed, moved or added anywhere."""

import copy
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from fuzz.mutation import odd_texts

Place = tuple[str | int, ...]
NUMBERS = [0, -1, 1, 2, 0.5, -0.0, 1e308, 2**31, 2**63, 10**30, float("nan"), float("inf"), float("-inf")]
OTHERS: list[Any] = [None, True, False, "", "x", "../x", "/etc/passwd", [], {}, [[]], [1.5], ["a"], {"a": 1}, {"0": []}]
VALUES = st.one_of(
    st.sampled_from([*NUMBERS, *OTHERS]).map(copy.deepcopy),  # which later changes may change
    odd_texts(4),
    st.integers(),
    st.floats(),
    st.lists(st.integers(), max_size=3),
)


def places(document: Any, above: Place = ()) -> Iterator[Place]:
    """The place of every value in a document, but for the document itself."""
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in inside:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


@st.composite
def changed(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    """A copy of a document with one to three changes."""
    found = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        there = list(places(found))
        if not there:
            break
        *above, last = draw(st.sampled_from(there))
        within: Any = found
        for key in above:
            within = within[key]
        match draw(st.sampled_from(["replace", "replace", "remove", "add", "nest", "exchange"])):
            case "replace":
                within[last] = draw(VALUES)
            case "remove":
                del within[last]
            case "add" if isinstance(within, dict):
                within[draw(st.sampled_from(["x", "seed", "person", "../y"]))] = draw(VALUES)
            case "add":
                within.append(draw(VALUES))
            case "nest":
                within[last] = [within[last]]
            case "exchange":
                other = draw(st.sampled_from([place for place in there if place[:-1] == tuple(above)]))[-1]
                within[last], within[other] = within[other], within[last]
    return found


def sealed_anyhow(document: dict[str, Any], *, indent: int | None) -> bytes:
    """A sealed document or line with a checksum that is right, whatever its content: also NaN, which we never write."""
    text = json.dumps(document, indent=indent)
    body = (text.removesuffix("\n}") if indent else text.removesuffix("}")) + ","
    checksum = hashlib.sha256(body.encode(errors="replace")).hexdigest()
    end = '\n "checksum": "{}"\n}}\n' if indent else ' "checksum": "{}"}}\n'
    return (body + end.format(checksum)).encode(errors="replace")
