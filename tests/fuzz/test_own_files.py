"""Our own files, damaged or forged.

A file that differs in any byte from what was written is refused. If somebody computes its checksums again, it is read
and makes sense, or is refused; it is never an error of ours, and never a certificate that contradicts its figures.
"""

import copy
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fuzz.budget import examples
from fuzz.mutation import EXTREMES, TEXTS, mutated
from fuzz.trees import changed, sealed_anyhow
from fuzz.watching import only_refuses
from lassi.base.artefact import META, Artefact
from lassi.base.checkpoint import Checkpoints, State
from lassi.base.compute import ThreadChoices
from lassi.base.identity import Identity
from lassi.base.streams import Stream
from lassi.certify.certificate import Certificate
from lassi.certify.methods import method_named
from lassi.certify.proof import Proof
from lassi.certify.proof_file import ProofFile
from lassi.certify.store import CertificateFile
from lassi.consumer.classifier import load_classifier
from lassi.flow.check import FlowCheck
from lassi.flow.store import load_glow
from lassi.recheck.files import check_files
from lassi.report.write import refuse_changed_page
from lassi.representation.train import load_representation
from lassi.results.overview import overview_of
from lassi.results.store import read_results
from lassi.run.auditor import Auditor
from lassi.run.end_points import load_end_points
from lassi.run.kept_recipe import load_recipe_of
from lassi.run.run import Run
from lassi.similarity.directions import load_directions
from lassi.similarity.sets import SimilaritySet

Read = Callable[[Path], Any]  # what the program makes of a run's file


@pytest.fixture(scope="module")
def run(nano_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a finished run, whose exact certificates keep their proofs."""
    folder = tmp_path_factory.mktemp("own") / "run"
    shutil.copytree(nano_run, folder)
    path = one(folder, CERTIFICATES)
    ProofFile(path).append({0: Proof(knots=(-1.0, 0.5, 1.0)), 1: Proof(knots=(-1.0, 1.0), span=((1.0,),))})
    return folder


def one(run: Path, pattern: str) -> Path:
    return min(run.glob(pattern))


CERTIFICATES = "certificates/lassi*exact-joint*.jsonl"


def auditor(run: Path) -> Auditor:
    opened = Run.open(run)
    return Auditor.of(opened, opened.cells[-1])


@cache
def terms(run: Path) -> Any:
    own = auditor(run)
    return own.file(own.certifier("exact-joint", own.people("test"))).terms


def certificates(run: Path) -> list[Certificate]:
    file = CertificateFile(one(run, CERTIFICATES), terms(run))
    return list(file.of(file.people))


def seconds(run: Path) -> float | None:
    return CertificateFile(one(run, CERTIFICATES), terms(run)).seconds_per_person


def proofs(run: Path) -> list[Proof | None]:
    file = ProofFile(one(run, CERTIFICATES))
    return [file.of(person) for person in range(20)]


def similarity_set(run: Path) -> SimilaritySet:
    directions = load_directions(one(run, "directions/*"))
    return directions.similar(1.0, flow=directions.flow)


LINES: dict[str, tuple[str, Read]] = {
    "certificates": (CERTIFICATES, certificates),
    "times": ("certificates/lassi*exact-joint*.times", seconds),
    "proofs": ("certificates/lassi*exact-joint*.proofs", proofs),
}
DOCUMENTS: dict[str, tuple[str, Read]] = {
    "recipe": ("recipe.json", load_recipe_of),
    "results": ("results.json", lambda run: (read_results(run), overview_of(run))),
    "threads": ("threads.json", lambda run: ThreadChoices(run / "threads.json").of("training the flow", lambda: 1)),
    "end points": ("certificates/lassi*.ends", lambda run: load_end_points(auditor(run), "smoothed-modular")),
}
ARTEFACTS: dict[str, tuple[str, Read]] = {
    "flow": ("flow", lambda run: load_glow(run / "flow").state_dict()),
    "flow check": ("flow-check", lambda run: FlowCheck.load(run / "flow-check", flow=Artefact(run / "flow").content)),
    "latents": ("latents/test", lambda run: torch.tensor(Run.open(run).load_latents("test").z)),
    "directions": ("directions/*", lambda run: similarity_set(run).directions),
    "representation": ("representation/*", lambda run: load_representation(one(run, "representation/*")).state_dict()),
    "classifier": ("classifier/*", lambda run: load_classifier(one(run, "classifier/*")).state_dict()),
}
READERS = (
    LINES | DOCUMENTS | ARTEFACTS | {"page": ("report.html", lambda run: refuse_changed_page(run / "report.html"))}
)


@contextmanager
def holding(path: Path, content: bytes) -> Iterator[None]:
    """Within the block, a file has other content."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


def files(run: Path, kind: str) -> list[Path]:
    path = one(run, READERS[kind][0])
    return sorted(path.iterdir()) if path.is_dir() else [path]


def tensors_in(found: Any) -> Iterator[torch.Tensor]:
    if isinstance(found, torch.Tensor):
        yield found
    elif isinstance(found, dict):
        for value in found.values():
            yield from tensors_in(value)


@pytest.mark.parametrize("kind", READERS)
def test_what_was_written_is_read(run: Path, kind: str) -> None:
    pattern, read = READERS[kind]
    assert list(run.glob(pattern))
    only_refuses(lambda: read(run), run)
    read(run)


@pytest.mark.parametrize("kind", READERS)
@examples(25, 300)
@given(data=st.data())
def test_any_other_bytes_are_refused(run: Path, kind: str, data: st.DataObject) -> None:
    """A last line that a killed process did not finish is ignored; it never hides that an earlier one was changed."""
    read, path = READERS[kind][1], data.draw(st.sampled_from(files(run, kind)))
    before = path.read_bytes()
    content = data.draw(mutated(before, EXTREMES + TEXTS))
    whole_lines = content[: content.rfind(b"\n") + 1]
    is_unfinished = kind in LINES and content != whole_lines and before.startswith(whole_lines)
    with holding(path, content):
        try:
            found = read_or_raise(read, run)
        except Refused:
            return
    assert content == before or is_unfinished or (kind in LINES and before.startswith(content))
    if kind == "certificates":
        assert b"".join(own.line() for own in found) == whole_lines


class Refused(Exception):
    """The file was refused in one sentence."""


def read_or_raise(read: Read, run: Path) -> Any:
    """What is read; :class:`Refused` if it is refused properly."""
    done: list[Any] = []
    only_refuses(lambda: done.append(read(run)), run)
    if not done:
        raise Refused
    return done[0]


@pytest.mark.parametrize("kind", LINES)
@examples(60, 500)
@given(data=st.data())
def test_a_forged_line_is_read_or_refused(run: Path, kind: str, data: st.DataObject) -> None:
    pattern, read = LINES[kind]
    path = one(run, pattern)
    lines = path.read_bytes().splitlines(keepends=True)
    number = data.draw(st.integers(0, len(lines) - 1))
    lines[number] = sealed_anyhow(data.draw(changed(opened(lines[number]))), indent=None)
    with holding(path, b"".join(lines)):
        found = only_refuses(lambda: read(run), run)
    if kind == "certificates":
        for certificate in found or ():
            assert_consistent(certificate)


def assert_consistent(certificate: Certificate) -> None:
    if certificate.is_certified:
        assert certificate.predicted is not None
        assert 0 < method_named(certificate.method).surplus(certificate) < float("inf")
    assert certificate.alpha == 0
    assert certificate.is_certified != (certificate.counterexample is not None) or not certificate.is_certified


@pytest.mark.parametrize("kind", DOCUMENTS)
@examples(60, 500)
@given(data=st.data())
def test_a_forged_document_is_read_or_refused(run: Path, kind: str, data: st.DataObject) -> None:
    pattern, read = DOCUMENTS[kind]
    path = one(run, pattern)
    content = sealed_anyhow(data.draw(changed(opened(path.read_bytes()))), indent=1)
    with holding(path, content):
        only_refuses(lambda: read(run), run)


@pytest.mark.parametrize("kind", ARTEFACTS)
@examples(40, 400)
@given(data=st.data())
def test_a_forged_artefact_is_read_or_refused(run: Path, kind: str, data: st.DataObject) -> None:
    """In half of the cases the fingerprint of what it was made from is computed again, too."""
    pattern, read = ARTEFACTS[kind]
    path = one(run, pattern) / META
    meta = data.draw(changed(opened(path.read_bytes())))
    if data.draw(st.booleans()) and {"stage", "version", "settings", "parents", "seed"} <= meta.keys():
        forge_fingerprint(meta)
    with holding(path, sealed_anyhow(meta, indent=1)):
        only_refuses(lambda: read(run), run)


def forge_fingerprint(meta: dict[str, Any]) -> None:
    try:
        own = Identity(*(meta[key] for key in ("stage", "version", "settings", "parents", "seed")))
        meta["fingerprint"] = own.fingerprint
    except (TypeError, ValueError):
        pass  # nothing that could have a fingerprint


@pytest.mark.parametrize("kind", [kind for kind in ARTEFACTS if kind != "flow check"])
@examples(40, 400)
@given(data=st.data())
def test_forged_tensors_are_read_and_finite_or_refused(run: Path, kind: str, data: st.DataObject) -> None:
    """Weights, vectors and latents with other bytes, whose checksum was computed again."""
    pattern, read = ARTEFACTS[kind]
    folder = one(run, pattern)
    path = data.draw(st.sampled_from(sorted(path for path in folder.iterdir() if path.name != META)))
    content, meta = data.draw(mutated(path.read_bytes())), opened((folder / META).read_bytes())
    meta["files"][path.name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    with holding(path, content), holding(folder / META, sealed_anyhow(meta, indent=1)):
        found = only_refuses(lambda: read(run), run)
        if kind != "latents":  # which are judged person by person, when they are certified
            assert all(tensor.isfinite().all() for tensor in tensors_in(found))


def opened(raw: bytes) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(raw)
    del content["checksum"]
    return content


@examples(60, 500)
@given(data=st.data())
def test_recheck_names_a_file_with_other_bytes(run: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(path for path in run.rglob("*") if path.is_file())))
    before = path.read_bytes()
    content = data.draw(mutated(before, EXTREMES + TEXTS))
    is_cut = path.suffix in (".jsonl", ".times", ".proofs") and before.startswith(content)  # between two lines
    with holding(path, content):
        problems = check_files(run).problems
    is_named = any(str(path) in found.path + found.sentence or found.path == str(path.parent) for found in problems)
    is_fine = is_named or content == before or is_cut
    assert is_fine, f"{path.name} is not named"


# Checkpoints


def new_checkpoints(above: Path) -> Path:
    """A folder with two checkpoints of a small model, after 1 and 2 steps."""
    folder = Path(tempfile.mkdtemp(dir=above))
    with Stream(0, "fuzz").global_torch():
        model = torch.nn.Linear(3, 2)
    optimiser, checkpoints = torch.optim.Adam(model.parameters()), Checkpoints(folder, "f" * 64)
    for step in (1, 2):
        model(torch.ones(4, 3)).sum().backward()
        optimiser.step()
        checkpoints.save(model, optimiser, State(threads=1, step=step, best=copy.deepcopy(model.state_dict())))
    return folder


def resume(folder: Path) -> State | None:
    model = torch.nn.Linear(3, 2)
    state = Checkpoints(folder, "f" * 64).load(model, torch.optim.Adam(model.parameters()))
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())
    return state


@examples(80, 600)
@given(data=st.data())
def test_after_damage_to_the_newest_checkpoint_the_one_before_is_used(tmp_path: Path, data: st.DataObject) -> None:
    folder = new_checkpoints(tmp_path)
    path = data.draw(st.sampled_from(sorted((folder / "1").iterdir())))
    content = data.draw(mutated(path.read_bytes(), EXTREMES + TEXTS))
    is_damaged = content != path.read_bytes()
    path.write_bytes(content)
    state = only_refuses(partial(resume, folder), folder)
    assert state is not None
    assert state.step == (1 if is_damaged else 2)


@examples(80, 600)
@given(data=st.data())
def test_forged_checkpoints_are_resumed_from_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    folder = new_checkpoints(tmp_path)
    for slot in ("0", "1"):
        path = folder / slot / META
        meta = data.draw(changed(opened(path.read_bytes())))
        if {"stage", "version", "settings", "parents", "seed"} <= meta.keys():
            forge_fingerprint(meta)
        path.write_bytes(sealed_anyhow(meta, indent=1))
    only_refuses(partial(resume, folder), folder)
