"""What the pickle inside a PyTorch file describes, found without unpickling it.

A pickle is a program for a small stack machine. This machine knows only what a dictionary of tensors needs, and makes
nothing: a tensor remains a description (:class:`Described`), a function remains its name. So no code can run, and sizes
can be compared with the file before any memory is taken for them, whereas ``torch.load`` allocates what a file claims.
"""

import pickletools
import re
from dataclasses import dataclass
from typing import Any, BinaryIO

import torch

DTYPES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
LARGEST = 2**63 - 1  # of the numbers that describe a tensor
MOST_DIMENSIONS = 8
PART = re.compile(r"Size|device|[a-z]+\d+\w*|per_\w+")  # of an unusual tensor: uint16, per_tensor_affine, …


class MoreThanTensors(Exception):
    """The pickle asks for something that a dictionary of tensors does not need, perhaps for running code."""


class Malformed(Exception):
    """The pickle is not one that PyTorch writes."""


@dataclass(frozen=True)
class Storage:
    """Numbers in the file: the key under which they are kept, their type and how many they are."""

    key: str
    dtype: torch.dtype
    count: int

    @property
    def num_bytes(self) -> int:
        return self.count * self.dtype.itemsize


@dataclass(frozen=True)
class Described:
    """A tensor: a view of a storage."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Named:
    """A function or type, by its name."""

    module: str
    name: str


@dataclass(frozen=True)
class Unusual:
    """A tensor that is sparse, quantised or complex, or something that belongs to one."""


class Mark:
    """Marks a place on the stack."""


def described_by(file: BinaryIO) -> Any:
    """What one pickle describes; afterwards the file is positioned behind it.

    Raises:
        MoreThanTensors: if it could run code or makes other objects.
        Malformed, ValueError, …: if it is damaged.
    """
    machine = _Machine()
    for opcode, argument, _ in pickletools.genops(file):
        machine.do(opcode.name, argument)
    return machine.result()


class _Machine:
    """The stack machine: constants, containers, and descriptions of tensors."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def result(self) -> Any:
        if len(self.stack) != 1:
            raise Malformed
        return self.stack[0]

    def do(self, name: str, argument: Any) -> None:
        match name:
            case "PROTO" | "FRAME" | "STOP":
                pass
            case "MARK":
                self.stack.append(Mark)
            case "NONE":
                self.stack.append(None)
            case "NEWTRUE" | "NEWFALSE":
                self.stack.append(name == "NEWTRUE")
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT":
                self.stack.append(argument)
            case "BINUNICODE" | "SHORT_BINUNICODE" | "BINUNICODE8" | "SHORT_BINSTRING" | "BINSTRING":
                self.stack.append(argument)
            case "BINPUT" | "LONG_BINPUT" | "MEMOIZE":
                self.memo[len(self.memo) if argument is None else argument] = self.stack[-1]
            case "BINGET" | "LONG_BINGET":
                self.stack.append(self.memo[argument])
            case "GLOBAL" | "STACK_GLOBAL":
                self.stack.append(self.named(*argument.split(" ", 1)) if argument else self.named(*self.pop(2)))
            case "BINPERSID":
                self.stack.append(_storage(*self.pop(1)))
            case "REDUCE":
                self.stack.append(_reduced(*self.pop(2)))
            case "BUILD":
                self.build(*self.pop(1))
            case _:
                self.contain(name)

    def contain(self, name: str) -> None:
        """Make a container, or fill one."""
        match name:
            case "EMPTY_DICT":
                self.stack.append({})
            case "EMPTY_LIST":
                self.stack.append([])
            case "EMPTY_TUPLE":
                self.stack.append(())
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                self.stack.append(self.pop(int(name[-1])))
            case "TUPLE":
                self.stack.append(self.pop_to_mark())
            case "SETITEM":
                self.set_items(self.pop(2))
            case "SETITEMS":
                self.set_items(self.pop_to_mark())
            case "APPEND":
                self.append(self.pop(1))
            case "APPENDS":
                self.append(self.pop_to_mark())
            case _:
                raise MoreThanTensors

    def pop(self, count: int) -> tuple[Any, ...]:
        if len(self.stack) < count or any(item is Mark for item in self.stack[-count:]):
            raise Malformed
        found = tuple(self.stack[-count:])
        del self.stack[-count:]
        return found

    def pop_to_mark(self) -> tuple[Any, ...]:
        found = []
        while (top := self.stack.pop()) is not Mark:
            found.append(top)
        return tuple(reversed(found))

    def set_items(self, items: tuple[Any, ...]) -> None:
        into, keys, values = self.stack[-1], items[::2], items[1::2]
        # Keys are texts or numbers: comparing or hashing anything deeper could exhaust the interpreter's own stack.
        if type(into) is not dict or not all(type(key) in (str, int) for key in keys):
            raise Malformed
        into.update(zip(keys, values, strict=True))

    def append(self, items: tuple[Any, ...]) -> None:
        if type(self.stack[-1]) is not list:
            raise Malformed
        self.stack[-1].extend(items)

    def build(self, _state: Any) -> None:
        """Leave out the attributes of an object: PyTorch gives a state dict the versions of its modules."""
        if type(self.stack[-1]) is not dict:
            raise MoreThanTensors

    @staticmethod
    def named(module: Any, name: Any) -> Named:
        if not (type(module) is type(name) is str):
            raise Malformed
        known = {
            "torch": name.endswith("Storage") or PART.fullmatch(name),
            "torch.storage": name in ("UntypedStorage", "TypedStorage"),
            "torch._utils": name.startswith("_rebuild_"),
            "torch.serialization": name == "_get_layout",
            "collections": name == "OrderedDict",
        }
        if not known.get(module):
            raise MoreThanTensors
        return Named(module, name)


def _reduced(function: Any, arguments: Any) -> Any:
    """What a function would return."""
    if type(function) is not Named or type(arguments) is not tuple:
        raise MoreThanTensors
    match function.name, arguments:
        case "OrderedDict", ():
            return {}
        case "_rebuild_tensor" | "_rebuild_tensor_v2", (Storage() as storage, offset, shape, strides, *_):
            numbers = (offset, *_tuple(shape), *_tuple(strides))
            if not len(shape) == len(strides) <= MOST_DIMENSIONS or not all(map(_is_size, numbers)):
                raise Malformed
            return Described(storage, offset, shape, strides)
        case "_rebuild_parameter", (Described() as data, *_):
            return data
        case "OrderedDict", _:
            raise MoreThanTensors
        case _:
            return Unusual()


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _tuple(value: Any) -> tuple[Any, ...]:
    if type(value) is not tuple:
        raise Malformed
    return value


def _storage(identity: Any) -> Storage | Unusual:
    """The storage that PyTorch's persistent id means: ``("storage", type, key, location, count)``."""
    match identity:
        case ("storage", Named(module="torch", name=name), str(key), str(), int(count), *rest) if rest in ([], [None]):
            if name not in DTYPES:
                return Unusual()
            if not _is_size(count):
                raise Malformed
            return Storage(key, DTYPES[name], count)
        case ("storage", Named(), *_):
            return Unusual()
    raise Malformed
