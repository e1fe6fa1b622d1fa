"""A file of certificates: nothing that was changed is read, nothing that is not ours is touched."""

import json
import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lassi.base.errors import UserError
from lassi.base.lock import Held, only_writer
from lassi.certify.certificate import Certificate
from lassi.certify.method import People, Subject
from lassi.certify.people import Certifier, certify_people
from lassi.certify.settings import Certification
from lassi.certify.store import CertificateFile
from networks import random_model, random_people, random_set
from sealing import forge_line

QUICK = Certification(n=1500, n0=1500, n_rs=2000, n_rs0=200)
OF = {"flow": "f"}


def certifier(method: str = "exact-joint") -> Certifier:
    return Certifier.of(method, Subject(random_model(1), random_set(1, length=0.3)), QUICK, sigma_rs=0.5)


def opened(path: Path, method: str = "exact-joint") -> CertificateFile:
    return CertificateFile(path, certifier(method).terms(OF))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with the certificates of ten people."""
    path = tmp_path / "c.jsonl"
    certify(path)
    return path


def certify(
    path: Path, method: str = "exact-joint", *, shift: int = 0, keeps_proofs: bool = False
) -> list[Certificate]:
    z = random_people(1, 10).roll(shift, 0)
    own = certifier(method)
    if keeps_proofs:
        own = replace(own, subject=replace(own.subject, proofs={}))
    return list(certify_people(own, People(z, range(10)), opened(path, method)))


def test_every_changed_byte_is_noticed(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(0, len(whole) - 1, 11):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(UserError):
            opened(path)
    path.write_bytes(whole)
    assert len(opened(path)) == 10


def test_an_edited_outcome_is_refused(path: Path) -> None:
    text = path.read_text()
    changed = text.replace('"outcome": "counterexample"', '"outcome": "certified"')
    changed = changed if changed != text else text.replace('"certified"', '"counterexample"')
    path.write_text(changed)
    with pytest.raises(UserError, match=r"c.jsonl', line \d+ was changed after it was written"):
        opened(path)


def test_a_line_that_occurs_twice_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[3])
    with pytest.raises(UserError, match="line 11: person 3 occurs twice"):
        opened(path)


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "objection"),
    [
        (lambda c: c.update(alpha=0.99), r"its alpha is 0\.99, which is more than 0"),
        (lambda c: c.update(alpha=float(-1)), "its alpha is -1"),
        (lambda c: c.update(radius=0.5), r"its radius is 0\.5, not 1"),
        (lambda c: c.update(method="exact-modular"), "its method is exact-modular, not exact-joint"),
        (lambda c: c.update(seed=3), "its seed is 3, not None"),
        (lambda c: c.update(predicted=99), "its class is 99, but there are"),
        (lambda c: c.update(of={"flow": "g"}), "it is about a different model"),
        (lambda c: c.update(outcome="certified", counterexample=None, figures={}), "without the figures that show it"),
        (
            lambda c: c.update(outcome="certified", counterexample=None, figures={"margin": -1.0, "slack": 0.0}),
            "it is certified, but its surplus is -1",
        ),
        (lambda c: c.update(outcome="certified", counterexample=None, predicted=None), "certified without a class"),
        (lambda c: c.update(flip=-1.0), "its flip is -1"),
        (
            lambda c: c.update(outcome="counterexample", counterexample={"t": [0.5], "predicted": 1 - c["predicted"]}),
            "it has a counterexample, but no flip",
        ),
        (
            lambda c: c.update(
                outcome="counterexample", counterexample={"t": [0.5], "predicted": 1 - c["predicted"]}, flip=0.6
            ),
            r"its flip is 0\.6, but its counterexample is nearer",
        ),
        (
            lambda c: c.update(outcome="counterexample", counterexample=None),
            "its outcome and its counterexample contradict each other",
        ),
        (
            lambda c: c.update(outcome="counterexample", counterexample={"t": [1.5], "predicted": 1 - c["predicted"]}),
            "its counterexample is not a similar person",
        ),
        (
            lambda c: c.update(outcome="counterexample", counterexample={"t": [0.5], "predicted": c["predicted"]}),
            "its counterexample has no different class",
        ),
    ],
)
def test_a_certificate_that_contradicts_the_question_or_itself_is_refused(
    path: Path, change: Change, objection: str
) -> None:
    forge_line(path, change)
    with pytest.raises(UserError, match=f"line 1: the certificate of person 0 does not belong here: .*{objection}"):
        opened(path)


@pytest.mark.parametrize("change", [lambda c: c.pop("method"), lambda c: c.update(outcome="proven")])
def test_a_line_that_is_no_certificate_is_refused(path: Path, change: Change) -> None:
    forge_line(path, change)
    with pytest.raises(UserError, match="line 1 is not a certificate from this version"):
        opened(path)


def test_certificates_name_the_latents_they_are_about(path: Path) -> None:
    with pytest.raises(UserError, match="is for a different latent"):
        certify(path, shift=1)


@pytest.mark.parametrize("content", [b"my thesis", b"my thesis\nits end", b"{", b'{"person": 1}\n{"person"', b"\n\n"])
def test_a_file_of_somebody_else_is_never_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match="is not a file of certificates"):
        certify(path)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("suffix", [".times", ".proofs"])
@pytest.mark.parametrize("content", [b"my notes", b"line one\nmy precious times", b'{"lassi": "x", my notes'])
def test_what_somebody_else_keeps_next_to_it_is_never_touched(tmp_path: Path, suffix: str, content: bytes) -> None:
    (tmp_path / f"c{suffix}").write_bytes(content)
    with pytest.raises(UserError, match=rf"c{suffix}' is not a file of (times|proofs) from this version of lassi"):
        certify(tmp_path / "c.jsonl", keeps_proofs=True)
    assert (tmp_path / f"c{suffix}").read_bytes() == content


@pytest.mark.parametrize("suffix", [".times", ".proofs"])
def test_certificates_are_not_named_like_what_is_kept_next_to_them(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(UserError, match=r"does not end in \.jsonl"):
        certify(tmp_path / f"c{suffix}")
    assert not list(tmp_path.iterdir())


def test_proofs_without_their_certificates_are_not_added_to(path: Path) -> None:
    path.unlink()
    certify(path, keeps_proofs=True)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
    with pytest.raises(UserError, match=r"c\.proofs' has a proof of person 4, who has no certificate"):
        certify(path, keeps_proofs=True)
    path.with_suffix(".proofs").unlink()
    certify(path, keeps_proofs=True)
    certify(path, keeps_proofs=True)


@pytest.mark.parametrize("content", ["[" * 3000, '["process", "machine", "command"]', "{}"])
def test_a_lock_holds_what_we_write_or_nothing(path: Path, content: str) -> None:
    forget_last(path)
    lock = path.parent / f".{path.name}.lock"
    lock.write_text(content)
    with pytest.raises(UserError, match="is needed as a lock, but was not written by lassi"):
        certify(path)
    lock.write_text('{"process": 1, "mach')
    assert len(certify(path)) == 10, "its holder was killed while writing"


def test_a_lock_with_a_second_name_is_left_alone(path: Path) -> None:
    forget_last(path)
    (path.parent / "mine").touch()
    (path.parent / f".{path.name}.lock").hardlink_to(path.parent / "mine")
    with pytest.raises(UserError, match="is needed as a lock, but was not written by lassi"):
        certify(path)


def test_notes_after_the_last_certificate_are_not_taken_for_an_unfinished_one(path: Path) -> None:
    content = path.read_bytes() + b'{"lassi": "certificate", "person": 9, my own notes'
    path.write_bytes(content)
    with pytest.raises(UserError, match="is not a file of certificates"):
        certify(path)
    assert path.read_bytes() == content


def test_a_lock_that_is_somebody_elses_file_is_left_alone(path: Path) -> None:
    forget_last(path)
    lock, precious = path.parent / f".{path.name}.lock", path.parent / "precious.txt"
    lock.write_text("poetry")
    with pytest.raises(UserError, match="is needed as a lock, but was not written by lassi"):
        certify(path)
    assert lock.read_text() == "poetry"
    lock.unlink()
    precious.touch()
    lock.symlink_to(precious)
    with pytest.raises(UserError, match="is needed as a lock, but was not written by lassi"):
        certify(path)
    assert lock.is_symlink()
    assert not precious.read_text()


def test_a_folder_is_not_a_file_of_certificates(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a regular file"):
        certify(tmp_path)


@pytest.mark.parametrize("lost", [1, 5, 100])
def test_what_a_killed_writer_left_unfinished_is_made_again(path: Path, lost: int) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost])
    assert len(opened(path)) == 9
    certify(path)
    assert path.read_bytes() == whole


def test_times_that_were_changed_are_refused(path: Path) -> None:
    assert opened(path).seconds_per_person is not None
    times = path.with_suffix(".times")
    times.write_text(times.read_text().replace('"people": 10', '"people": 11'))
    with pytest.raises(UserError, match="was changed after it was written"):
        _ = opened(path).seconds_per_person


@pytest.mark.parametrize("lost", [1, 30])
def test_times_that_a_killed_writer_left_unfinished_are_forgotten(path: Path, lost: int) -> None:
    times = path.with_suffix(".times")
    times.write_bytes(times.read_bytes()[:-lost])
    forget_last(path)
    certify(path)
    assert opened(path).seconds_per_person is not None
    assert times.read_bytes().count(b"\n") == 1


def forget_last(path: Path) -> None:
    """Remove the last certificate, so that there is something to write."""
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def test_a_complete_file_can_be_read_while_another_process_writes(path: Path) -> None:
    with only_writer(path):
        assert len(certify(path)) == 10
        assert list(path.parent.glob(".*.lock")), "the lock of a living process stays"


def test_the_lock_of_a_dead_process_is_removed(path: Path) -> None:
    lock = path.parent / f".{path.name}.lock"
    lock.touch()
    certify(path)
    assert not lock.exists()


def _hold(path: Path, held: Any, done: Any) -> None:
    with only_writer(path):
        held.set()
        done.wait(60)


def test_a_second_writer_is_told_who_writes_and_stops(path: Path) -> None:
    forget_last(path)
    context = multiprocessing.get_context("fork")
    held, done = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(path, held, done))
    holder.start()
    try:
        assert held.wait(60)
        with pytest.raises(Held, match=rf"c.jsonl' is being written by process {holder.pid} on .* \(lassi"):
            certify(path)
    finally:
        holder.kill()
        holder.join()
    assert len(certify(path)) == 10, "the kernel releases the lock of a dead holder"
    assert not list(path.parent.glob(".*.lock"))


def test_a_file_system_without_locks_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import fcntl

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    forget_last(path)
    with pytest.raises(UserError, match="has no locks, so two processes could write there at once"):
        certify(path)


def test_lines_are_json(path: Path) -> None:
    for line in path.read_text().splitlines():
        content = json.loads(line)
        assert next(iter(content)) == "lassi"
        assert list(content)[-1] == "checksum"
