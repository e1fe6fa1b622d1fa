"""Small files that used to take gigabytes, minutes or for ever.

Run as a program, it reads each of them with little memory left, and prints a line of JSON for each: its name, what was
refused, and how many seconds that took.
"""

import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from fuzz.files import (
    announced,
    few_weights,
    inflating_vector,
    inflating_weights,
    layers,
    long_text,
    many_scans,
    npz,
    pickled,
    pickled_as_before,
    torch_file,
    with_member,
)
from lassi.base.errors import UserError
from lassi.consumer.imported import read_classifier
from lassi.data.celeba import open_celeba
from lassi.data.decode import decode
from lassi.data.folder import open_folder
from lassi.flow.check import read_displacements
from lassi.flow.imported import read_glow
from lassi.recipe.recipe import load_recipe
from lassi.representation.imported import read_representation
from lassi.similarity.imported import read_vectors

SPARE = 600 * 2**20  # bytes of address space that reading all of the files may take
FILE, ROOT = Path("file"), Path("root")
Act = Callable[[], object]
Case = tuple[Act, Act, str]  # what writes the file, what reads it, and part of the sentence


def cases() -> dict[str, Case]:
    """Every file, by what is wrong with it; none is made before it is written."""
    return weights() | models() | arrays() | pictures() | texts() | endless()


def weights() -> dict[str, Case]:
    """Classifiers whose tensors are not what they seem."""
    expanded = {"proj.weight": torch.zeros(1).expand(2, 10**9), "proj.bias": torch.zeros(2)}
    made: dict[str, tuple[Callable[[], bytes], str]] = {
        "an expanded tensor": (
            lambda: torch_file(expanded),
            "'proj.weight' has shape (2, 1000000000), but uses some of its numbers more than once",
        ),
        "a storage that announces more": (
            lambda: pickled(10**12, (2, 3), (3, 1)),
            "bytes, but announces 4,000,000,000,000",
        ),
        "a storage that announces more, in the older format": (
            lambda: pickled_as_before(10**12),
            "bytes, but announces 4,000,000,000,008",
        ),
        "a tensor that announces more": (lambda: pickled(6, (2, 10**9), (10**9, 1)), "but 6 numbers are stored"),
        "weights that inflate": (lambda: inflating_weights(1024), "bytes, but announces 1,073,741,824"),
    }
    return {name: (_holds(make), lambda: read_classifier(FILE), said) for name, (make, said) in made.items()}


def models() -> dict[str, Case]:
    """Representations and flows whose tensors describe far more than they hold."""
    shared = torch.zeros(100, 100)
    square = torch.zeros(12, 12)

    def representation() -> object:
        return read_representation(FILE)

    def flow() -> object:
        return read_glow(FILE, 32)

    return {
        "layers that do not fit together": (
            _holds(lambda: torch_file(layers((50_000, 1), (50_000, 1)))),
            representation,
            "linear layer 1 has shape (50000, 1)",
        ),
        "layers that share their numbers": (
            _holds(lambda: torch_file({f"encoder.mlp.{n}.weight": shared for n in range(999)})),
            representation,
            "would become 39,960,000",
        ),
        "a flow without its weights": (
            _holds(lambda: torch_file(few_weights(10_000))),
            flow,
            "but the file holds 10,018",
        ),
        "a constant that asks for its square": (
            _holds(lambda: torch_file(few_weights(2, l_eye=torch.zeros(40_000), w_l=square, w_u=square))),
            flow,
            "l_eye' does not have the constant value",
        ),
    }


def arrays() -> dict[str, Case]:
    """Vectors and displacements."""
    long_array = b"\x93NUMPY\x01\0\x4a\0{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }  \n"
    levels = (np.ones((2, 2, 2)), np.ones((4, 1, 1)))

    def vector() -> object:
        return read_vectors([FILE], [level.shape for level in levels])

    return {
        "a vector that inflates": (
            _holds(lambda: inflating_vector(1024)),
            vector,
            "bytes, but at most 48,384 are read",
        ),
        "a vector that announces more": (
            _holds(lambda: with_member(npz(*levels), "arr_0.npy", long_array)),
            vector,
            "'arr_0': it has the shape (1000000, 1000000), but at most 8 numbers are read",
        ),
        "displacements that announce more": (
            _holds(lambda: long_array),
            lambda: read_displacements(FILE),
            "it has the shape (1000000, 1000000), but at most 134,217,728 numbers are read",
        ),
    }


def pictures() -> dict[str, Case]:
    made: dict[str, tuple[Callable[[], bytes], str]] = {
        "a picture that announces more": (lambda: announced("png", 60_000, 60_000), "it announces too many pixels"),
        "a picture that announces somewhat more": (
            lambda: announced("tiff", 8193, 8193),
            "the picture has 8,193×8,193 pixels, but at most 67,108,864 are read",
        ),
        "a picture in many scans": (lambda: many_scans(3000), "it is stored in 3,009 scans, but at most 64 are read"),
        "a picture with a text that inflates": (lambda: long_text(64), "Decompressed data too large"),
    }
    return {name: (_holds(make), lambda: decode(FILE, 8), said) for name, (make, said) in made.items()}


def texts() -> dict[str, Case]:
    """Annotation files and recipes."""
    columns = ",".join(f"c{n}" for n in range(100_000))
    names = " ".join(f"a{n}" for n in range(200_000))
    labels = {
        "many columns": ("labels.csv", f"file,{columns}\n0.png,{columns}\n", "there are 100,001 columns"),
        "many names": ("list_attr_celeba.txt", f"1\n{names} z z\n0.jpg 1\n", "two attributes are called 'z'"),
        "many names and rows": (
            "list_attr_celeba.txt",
            f"200000\n{names}\n" + "0.jpg 1\n" * 200_000,
            "row 1: there are 1 labels for 200,000 attributes",
        ),
    }
    recipes = {
        "a deep key": ("r.toml", "a." * 100_000 + "a = 1", "line 1 has more than 100 dots"),
        "a deep list": ("r.toml", "a = " + "[" * 100_000, "has tables nested deeper than 16 levels"),
        "a deep document": ("r.json", '{"a":' * 40_000, "has tables nested deeper than 16 levels"),
        "a long number": ("r.toml", "format = " + "9" * 5000, "holds a number with too many digits"),
        "a long hexadecimal number": ("r.toml", "format = 0x" + "f" * 200_000, "'format' has too many digits"),
        "a long number in a document": ("r.json", f'{{"a": {"9" * 5000}}}', "holds a number with too many digits"),
        "a long recipe": ("r.toml", "# " + "x" * 2_000_000, "it has 2,000,002 bytes, but at most 262,144 are read"),
    }
    changes = {
        "a deep change": ("a." * 4000 + "a=1", "refers to a key 4,000 tables deep"),
        "a deep value": ("flow.levels=" + "[" * 5000, "has a value that is too long or too deep"),
        "a change to a long number": ("flow.levels=" + "9" * 5000, "has a value that is too long or too deep"),
        "a change to a long hexadecimal number": ("flow.levels=0x" + "f" * 5000, "'value' has too many digits"),
        "a long change": ("flow.levels=" + "x" * 1_000_000, "has 1,000,012 characters"),
    }
    opens = {"labels.csv": open_folder, "list_attr_celeba.txt": open_celeba}
    return (
        {
            name: (_writes(ROOT / file, text), lambda file=file: opens[file](ROOT, 8), said)
            for name, (file, text, said) in labels.items()
        }
        | {
            name: (_writes(Path(file), text), lambda file=file: load_recipe(file), said)
            for name, (file, text, said) in recipes.items()
        }
        | {
            name: (_nothing, lambda change=change: load_recipe("shapes", [change]), said)
            for name, (change, said) in changes.items()
        }
    )


def endless() -> dict[str, Case]:
    """Files on which reading would wait for ever, or never end."""
    irregular, zero = "it is not a regular file", Path("/dev/zero")
    return {
        "a pipe in place of a picture": (_pipe(FILE), lambda: decode(FILE, 8), irregular),
        "a pipe in place of weights": (_pipe(FILE), lambda: read_classifier(FILE), irregular),
        "a pipe in place of labels": (_pipe(ROOT / "labels.csv"), lambda: open_folder(ROOT, 8), irregular),
        "an endless picture": (_nothing, lambda: decode(zero, 8), irregular),
        "endless weights": (_nothing, lambda: read_classifier(zero), irregular),
        "endless displacements": (_nothing, lambda: read_displacements(zero), irregular),
    }


def _nothing() -> None:
    pass


def _holds(make: Callable[[], bytes]) -> Act:
    return lambda: FILE.write_bytes(make())


def _writes(path: Path, text: str) -> Act:
    return lambda: path.write_text(text)


def _pipe(path: Path) -> Act:
    return lambda: (path.unlink(missing_ok=True), os.mkfifo(path))


def main() -> None:
    torch.set_num_threads(1)
    ROOT.mkdir()
    prepared = cases()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + SPARE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for name, (write, read, _) in prepared.items():
        write()
        start = time.perf_counter()
        try:
            read()
            sentence = "It was read."
        except UserError as error:
            sentence = error.sentence
        except BaseException as error:
            sentence = f"{type(error).__name__}: {error}"
        print(json.dumps([name, sentence, time.perf_counter() - start]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
