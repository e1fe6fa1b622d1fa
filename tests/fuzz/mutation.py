"""Files that are almost right: bytes flipped, inserted, deleted, repeated, cut off or set to extreme numbers."""

from hypothesis import strategies as st

EXTREMES = [b"\0", b"\xff", b"\x7f", b"\x80", bytes(4), b"\xff" * 4, b"\xff\xff\xff\x7f", b"\x7f\xff\xff\xff"]
TEXTS = [
    b"\r\n", b"\r", b"\n", b"\0", b"\xef\xbb\xbf", b'"', b",", b"\xff\xfe", b"..", b"/", b"-", b"9" * 30, b"\x1b[2J",
    b"\xc3\xa9", b"\xe2\x80\xa8", b"\xe2\x80\xae", b"1e999", b" " * 100, b"'", b"[", b"{", b"=", b".",
]  # fmt: skip
PIECES = [
    "\0", "\n", "\r\n", '"', ",", "..", "/", "./", "\x1b[2J", "\u202e", "\u2028", "é", "e\u0301", "𝟙", "²", "-1",
    "1e999", "nan", "9" * 25, " ", "\t", "\ufeff", "a" * 300, "0.png", "train", "=", "'", "%s", "{}",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, content: bytes, inserts: list[bytes] = EXTREMES) -> bytes:
    """Content with one to six changes."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(0, len(found) - 1)))
        length = draw(st.sampled_from([1, 2, 4, 8, 16, 64, 500]))
        match draw(st.sampled_from(["flip", "set", "insert", "delete", "repeat", "move", "cut", "random"])):
            case "flip" if found:
                found[at] ^= 1 << draw(st.integers(0, 7))
            case "set":
                extreme = draw(st.sampled_from(inserts))
                found[at : at + len(extreme)] = extreme
            case "insert":
                found[at:at] = draw(st.sampled_from(inserts))
            case "delete":
                del found[at : at + length]
            case "repeat":
                found[at:at] = found[at : at + length] * draw(st.sampled_from([1, 1, 2, 50]))
            case "move":
                part = found[at : at + length]
                del found[at : at + length]
                to = draw(st.integers(0, len(found)))
                found[to:to] = part
            case "cut":
                del found[at:]
            case "random":
                found[at : at + length] = draw(st.binary(max_size=16))
    return bytes(found)


def odd_texts(max_size: int = 30) -> st.SearchStrategy[str]:
    """Texts that people rarely write: control characters, separators, unusual Unicode, numbers beyond all bounds."""
    return st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=max_size).map("".join)
