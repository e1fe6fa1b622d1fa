"""The keys of a recipe, found from the types of its tables, so that nobody has to list them."""

import dataclasses
from collections.abc import Iterator
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from lassi.base.ranges import rule_in


def is_table(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind))


def parts(hint: Any) -> list[Any]:
    """What a type is made of: the members of a union or a container; of an annotated type, the type itself."""
    if get_origin(hint) is Annotated:
        return [get_args(hint)[0]]
    return [part for part in get_args(hint) if part not in (NoneType, Ellipsis)]


def fields(table: Any) -> dict[str, Any]:
    """The keys of one table, with their types."""
    hints = get_type_hints(table, include_extras=True)
    own = table.model_fields if issubclass(table, BaseModel) else [field.name for field in dataclasses.fields(table)]
    return {name: hints[name] for name in own}


def keys(table: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of a table and of the tables within it, with its type; the first of a list of tables stands for all."""
    for name, hint in fields(table).items():
        within = [kind for kind in [hint, *parts(hint)] if is_table(kind)]
        if not within:
            yield f"{prefix}{name}", hint
        for kind in within:
            yield from keys(kind, f"{prefix}{name}." + ("0." if get_origin(hint) is tuple else ""))


def unfit(table: Any, prefix: str = "") -> Iterator[str]:
    """The keys of a table that was read, and of the tables within it, whose values break their rules."""
    for name, hint in fields(type(table)).items():
        value, key = getattr(table, name), f"{prefix}{name}"
        if is_table(type(value)):
            yield from unfit(value, f"{key}.")
        elif isinstance(value, tuple) and any(is_table(type(item)) for item in value):
            for item in value:
                yield from unfit(item, f"{key}.")
        elif isinstance(value, dict):
            rule = rule_in(get_args(hint)[1])
            yield from (f"{key}.{inner}" for inner, held in value.items() if rule is None or not rule.fits(held))
        else:
            rule = rule_in(hint)
            if value is not None and rule is not None and not rule.fits(value):
                yield key
