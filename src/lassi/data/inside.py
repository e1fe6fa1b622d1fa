"""Staying inside a dataset's folder: names that lead out of it, links that do, and two names of one picture.

The folder itself may be a link. A link inside it may lead to another place inside it.
"""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from lassi.base.errors import UserError
from lassi.base.outside import shown, shown_path

ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)


def existing_folder(root: Path, dataset: str) -> Path:
    """The folder itself; an error if it does not exist."""
    try:
        there, reason = root.is_dir(), "does not exist"
    except OSError as error:
        there, reason = False, f"cannot be opened ({error.strerror})"
    if not there:
        raise UserError(
            f"The folder '{shown_path(root)}' for the dataset {dataset} {reason}.",
            hint="Give the right folder with --root, or put the files there; `lassi data list` shows which.",
        )
    return root


def file_inside(root: Path, name: str) -> Path:
    """The path of a dataset's own file, which need not exist; a link that leads out of the folder is refused."""
    _refuse_leading_out(root, Path(os.path.realpath(root)), name)
    return root / name


def is_given(path: Path) -> bool:
    """Whether an optional file is there; a link that leads nowhere counts, so that it is reported, not passed over."""
    return path.is_symlink() or path.exists()


def relative_names(files: Sequence[str], rows: Sequence[str]) -> list[str]:
    """The names of pictures in one spelling, ``a/b.png`` for ``./a//b.png``: none leads out, none occurs twice.

    Args:
        rows: where each picture is annotated, for messages.
    """
    names: dict[str, str] = {}
    for file, row in zip(files, rows, strict=True):
        parts = file.split("/")
        if parts[-1] in ("", ".") or file.startswith("/") or ".." in parts or "\0" in file:
            raise UserError(
                f"The picture '{shown(file)}' in {row} is not inside the dataset's folder.",
                hint="Give the file's path relative to that folder.",
            )
        name = "/".join(part for part in parts if part not in ("", "."))
        if name in names:
            raise UserError(
                f"'{shown(name)}' is annotated twice, in {names[name]} and {row}.", hint="Remove one of them."
            )
        names[name] = row
    return list(names)


def present(root: Path, names: Sequence[str], rows: Sequence[str]) -> set[str]:
    """Which of the pictures exist; listing each folder is much faster than testing each file.

    Two names of one picture, by links of either kind, are refused: one picture would count as two people.
    """
    home, row_of = Path(os.path.realpath(root)), dict(zip(names, rows, strict=True))
    found: dict[str, str] = {}  # the real path of each picture
    first: dict[object, str] = {}  # the first name of each picture, by its real path, and by its device and inode
    for folder in dict.fromkeys(os.path.dirname(name) for name in names):  # noqa: PTH120
        _refuse_leading_out(root, home, folder)
        place, device, entries = _listing(root / folder)
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if name not in row_of:
                continue
            if is_link := entry.is_symlink():
                _refuse_leading_out(root, home, name)
            if not _is_file(entry):
                continue
            found[name] = os.path.realpath(entry.path) if is_link else f"{place}/{entry.name}"
            for look in (found[name], None if is_link else (device, entry.inode())):
                other = name if look is None else first.setdefault(look, name)
                if other != name and os.path.samefile(root / other, root / name):  # noqa: PTH121
                    raise UserError(
                        f"'{shown(other)}' ({row_of[other]}) and '{shown(name)}' ({row_of[name]}) are the same file.",
                        hint="Remove one of the rows, so that nobody is counted twice.",
                    )
    return set(found)


def _listing(folder: Path) -> tuple[str, int, list["os.DirEntry[str]"]]:
    """The real path of a folder, its device and its entries; none if it does not exist."""
    try:
        with os.scandir(folder) as entries:
            return os.path.realpath(folder), folder.stat().st_dev, list(entries)
    except OSError as error:
        if error.errno in ABSENT:
            return "", 0, []
        raise UserError(
            f"The folder '{shown_path(folder)}' cannot be listed ({error.strerror}).", hint="Make it readable."
        ) from None


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_file()
    except OSError:  # such as a link to itself
        return False


def _refuse_leading_out(root: Path, home: Path, name: str) -> None:
    """Refuse a name under ``root`` that is outside ``home``, the root's real path."""
    if Path(os.path.realpath(root / name)).is_relative_to(home):
        return
    for link in (*reversed((root / name).parents), root / name):
        to = Path(os.path.realpath(link))
        if link.is_relative_to(root) and not to.is_relative_to(home):
            raise UserError(
                f"'{shown_path(link)}' is a link that leads out of the dataset's folder, to '{shown_path(to)}'.",
                hint="Put what it leads to into the folder, or give the folder that holds everything with --root.",
            )
