"""Pictures from anywhere: whatever the bytes, a picture of the right shape or one sentence."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fuzz.budget import examples
from fuzz.files import announced, saved
from fuzz.mutation import mutated, odd_texts
from fuzz.watching import new_folder, only_refuses
from lassi.data.decode import decode

SIZE = 8


def sideways() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


FRAMES = [Image.new("P", (10, 12), colour) for colour in range(5)]
SIXTEEN = io.BytesIO()
Image.fromarray(np.full((12, 10), 3000, np.uint16)).save(SIXTEEN, "PNG")
FILES = {
    "png": saved("RGB", "PNG"),
    "png, palette with transparency": saved("P", "PNG", transparency=b"\0\x80\xff"),
    "png, one bit": saved("1", "PNG"),
    "png, alpha": saved("RGBA", "PNG", exif=sideways()),
    "png, 16 bits": SIXTEEN.getvalue(),
    "png, animated": saved("RGB", "PNG", save_all=True, append_images=[f.convert("RGB") for f in FRAMES]),
    "jpeg": saved("RGB", "JPEG", exif=sideways()),
    "jpeg, progressive": saved("RGB", "JPEG", progressive=True),
    "jpeg, cmyk": saved("CMYK", "JPEG"),
    "jpeg, several": saved("RGB", "MPO", save_all=True, append_images=[f.convert("RGB") for f in FRAMES]),
    "webp": saved("RGB", "WEBP"),
    "webp, animated": saved("RGB", "WEBP", save_all=True, append_images=[f.convert("RGB") for f in FRAMES]),
    "bmp": saved("RGB", "BMP"),
    "bmp, palette": saved("P", "BMP"),
    "gif, animated": saved("P", "GIF", save_all=True, append_images=FRAMES),
    "ppm": saved("RGB", "PPM"),
    "tiff": saved("RGB", "TIFF"),
    "tiff, compressed": saved("CMYK", "TIFF", compression="tiff_lzw"),
    "tiff, several": saved("RGB", "TIFF", save_all=True, append_images=[f.convert("RGB") for f in FRAMES]),
}  # fmt: skip


def decoded(content: bytes, name: str = "picture") -> np.ndarray | None:
    """What a file of this content gives, or None if it is refused."""
    folder = new_folder()
    (folder / name).write_bytes(content)
    image = only_refuses(lambda: decode(folder / name, SIZE), folder)
    assert image is None or (image.shape, image.dtype) == ((3, SIZE, SIZE), np.uint8)
    return image


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "png, 16 bits"])
def test_the_files_to_begin_with_are_read(kind: str) -> None:
    assert decoded(FILES[kind]) is not None


@examples(300, 2000)
@given(st.sampled_from(list(FILES.values())).flatmap(mutated))
def test_a_damaged_picture_is_read_or_refused(content: bytes) -> None:
    decoded(content)


SIDES = st.one_of(st.integers(0, 2**31 - 1), st.sampled_from([0, 1, 7, 8, 8192, 8193, 9459, 65_535, 2**31 - 1]))


@examples(80, 500)
@given(st.sampled_from(["png", "bmp", "gif", "ppm", "tiff"]), SIDES, SIDES)
def test_a_small_file_that_announces_a_large_picture_takes_little_memory(kind: str, width: int, height: int) -> None:
    decoded(announced(kind, width, height))


EXOTIC = [
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", b"8BPS\0\1", b"SIMPLE  =                    T", b"%PDF-1.4\n",
    b"\0\0\1\0\1\0\x10\x10", b"icns\0\0\0\x10", b"\xd7\xcd\xc6\x9a", b"\x0a\x05\x01\x08", b"qoif", b"DDS ", b"BLP2",
    b"\x59\xa6\x6a\x95", b"#define x_width 9\n", b"/* XPM */", b"\0\0\0 ftypavif", b"\0\0\0\x0cjP  ", b"gimp xcf ",
]  # fmt: skip


@examples(60, 300)
@given(st.sampled_from(EXOTIC), st.binary(max_size=200))
def test_formats_that_no_camera_writes_are_refused(start: bytes, rest: bytes) -> None:
    """Pillow would start Ghostscript for the first of them."""
    assert decoded(start + rest) is None


@examples(60, 300)
@given(odd_texts(max_size=8))
def test_any_text_can_be_given_as_the_name_of_a_picture(name: str) -> None:
    folder = new_folder()
    only_refuses(lambda: decode(folder / Path(f"x{name}").name, SIZE), folder)
