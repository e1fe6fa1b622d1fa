"""Reading one picture: which formats, how large, and in how many parts."""

import errno
import io
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fuzz.files import announced, many_scans, saved
from fuzz.watching import watched
from lassi.base.errors import UserError
from lassi.data.decode import FORMATS, MOST_PIXELS, decode


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def refusal(path: Path, size: int = 8) -> str:
    with pytest.raises(UserError) as error:
        decode(path, size)
    return error.value.sentence


@pytest.mark.parametrize("kind", FORMATS)
def test_the_formats_of_photographs_are_read(tmp_path: Path, kind: str) -> None:
    assert decode(written(tmp_path / "a", saved("RGB", kind)), 8).shape == (3, 8, 8)


def test_no_other_format_is_read_and_no_program_is_started_for_one(tmp_path: Path) -> None:
    """Pillow has Ghostscript interpret an EPS file, which is a program."""
    file = io.BytesIO()
    Image.new("RGB", (9, 9)).save(file, "EPS")
    with watched(tmp_path):
        found = refusal(written(tmp_path / "a.png", file.getvalue()))
    assert found == "a.png: the picture cannot be read (it is none of JPEG, PNG, WEBP, TIFF, BMP, GIF, PPM)."


@pytest.mark.parametrize("kind", ["png", "bmp", "gif", "ppm", "tiff"])
def test_a_picture_with_too_many_pixels_is_refused_before_it_is_decoded(tmp_path: Path, kind: str) -> None:
    found = refusal(written(tmp_path / "a", announced(kind, 8192, 8193)))
    assert found == f"a: the picture has 8,192×8,193 pixels, but at most {MOST_PIXELS:,} are read."


def test_pillows_warning_about_many_pixels_is_not_shown(tmp_path: Path) -> None:
    """It warns from 89 million pixels on, and refuses twice as many itself."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert "10,000×10,000 pixels, but at most" in refusal(written(tmp_path / "a", announced("png", 10_000, 10_000)))
        assert "it announces too many pixels" in refusal(written(tmp_path / "a", announced("png", 20_000, 20_000)))
    assert not seen


def test_the_threads_that_decode_do_not_disturb_each_others_warnings(tmp_path: Path) -> None:
    path = written(tmp_path / "a", saved("RGB", "PNG"))
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: decode(path, 8), range(200)))
    assert all((image == found[0]).all() for image in found)
    assert list(warnings.filters) == before


def test_a_progressive_picture_is_read_but_not_one_of_endless_scans(tmp_path: Path) -> None:
    assert decode(written(tmp_path / "a", saved("RGB", "JPEG", progressive=True)), 8).shape == (3, 8, 8)
    found = refusal(written(tmp_path / "a", many_scans(100)))
    assert "it is stored in 109 scans, but at most 64 are read" in found


def test_transparency_of_a_palette_is_ignored(tmp_path: Path) -> None:
    """The colours are those of the same picture without it; Pillow would warn."""
    clear = decode(written(tmp_path / "a", saved("P", "PNG", transparency=b"\0\x80\xff")), 8)
    assert (clear == decode(written(tmp_path / "b", saved("P", "PNG")), 8)).all()


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_several_pictures_the_first_is_read(tmp_path: Path, kind: str) -> None:
    frames = [Image.new("RGB", (8, 8), (colour, 0, 0)) for colour in range(0, 250, 10)]
    options = {"lossless": True} if kind == "WEBP" else {}
    frames[20].save(tmp_path / "a", kind, save_all=True, append_images=frames, **options)
    assert (decode(tmp_path / "a", 8)[0] == 200).all()


def test_a_picture_that_exhausts_memory_gets_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(_: Image.Image) -> None:
        raise MemoryError

    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", exhausted)
    found = refusal(written(tmp_path / "a.png", saved("RGB", "PNG")))
    assert found == "a.png: the picture cannot be read (MemoryError)."


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none.png", os.strerror(errno.ENOENT)),
        (".", os.strerror(errno.EISDIR)),
        ("x" * 300, os.strerror(errno.ENAMETOOLONG)),
        ("a\0b", "no file can have this name"),
    ],
)
def test_what_is_not_a_file_gets_a_sentence(tmp_path: Path, name: str, reason: str) -> None:
    found = refusal(tmp_path / name)
    assert found.endswith(f": the picture cannot be read ({reason}).")
    assert found.isprintable()
    assert len(found) < 200


def test_a_pipe_does_not_keep_anybody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "pipe: the picture cannot be read (it is not a regular file)."


def test_a_small_picture_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    cut = saved("RGB", "PNG")[:60]
    assert "10×12 pixels, which is smaller than the working size 16×16" in refusal(written(tmp_path / "a", cut), 16)
    assert "the picture cannot be read" in refusal(written(tmp_path / "a", cut), 8)


def test_decoded_pixels_are_those_of_the_file(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    for kind in ("PNG", "BMP", "PPM", "TIFF"):
        Image.fromarray(pixels).save(tmp_path / "a", kind)
        assert (decode(tmp_path / "a", 8).transpose(1, 2, 0) == pixels).all()
