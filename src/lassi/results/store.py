"""``results.json``: written whole, read back, and described by a JSON Schema."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from lassi.base.errors import UserError
from lassi.base.files import read_ours, write_whole
from lassi.base.identity import digest
from lassi.base.outside import shown
from lassi.base.sealed import MOST_BYTES, document_of, seal, typed, unseal
from lassi.certify.certificate import KIND as CERTIFICATE
from lassi.certify.certificate import Certificate, Outcome
from lassi.results.records import FORMAT, CellResult, Results
from lassi.run.folder import RESULTS, existing_run

KIND = "results"  # of document
OURS = document_of(KIND)


def write_results(results: Results, folder: Path) -> Path:
    """Write the results of a run to its folder."""
    path = folder / RESULTS
    write_whole(path, to_json(results), ours=OURS)
    return path


def to_json(results: Results) -> bytes:
    """Results as the bytes of a JSON document."""
    return seal(KIND, as_json(results))


def as_json(results: Results) -> dict[str, Any]:
    """Results as what JSON can represent."""
    content: dict[str, Any] = _adapter().dump_python(results, mode="json")
    return content


def results_digest(results: Results) -> str:
    """A hash of all figures but times, by which a page names the results that it shows."""
    return digest(as_json(replace(results, cells=[without_times(cell) for cell in results.cells])))


def without_times(cell: CellResult) -> CellResult:
    """Without the time per person, which also counts people certified later."""
    certificates = {name: replace(found, seconds_per_person=None) for name, found in cell.certificates.items()}
    under = [replace(found, result=replace(found.result, seconds_per_person=None)) for found in cell.under]
    return replace(cell, certificates=certificates, under=under)


def read_results(folder: Path) -> Results:
    """The results of a run."""
    path = existing_run(folder) / RESULTS
    if not path.is_file():
        raise UserError(
            f"'{folder}' has no results yet.", hint=f"Run: lassi run {folder / 'recipe.json'} --out {folder}"
        )
    return from_json(read_ours(path, most=MOST_BYTES), called=str(path))


def from_json(content: bytes, *, called: str) -> Results:
    """Results from the bytes of a JSON document."""
    remedy = "Delete it and run the recipe again in the same folder; only what is missing is computed."
    document = unseal(KIND, content, called=f"'{called}'", remedy=remedy)
    if document.get("format") != FORMAT:
        raise UserError(
            f"'{called}' has format {shown(document.get('format'))}, but this version of lassi reads format {FORMAT}.",
            hint="Run the recipe again in a new folder.",
        )
    return typed(Results, document, called=f"'{called}'", remedy="Run the recipe again in a new folder.")


@cache
def _adapter() -> TypeAdapter[Results]:
    return TypeAdapter(Results)


def results_schema() -> dict[str, Any]:
    """The JSON Schema of ``results.json``."""
    return _sealed_schema(_adapter().json_schema(), KIND) | {"title": "lassi results"}


def certificate_schema() -> dict[str, Any]:
    """The JSON Schema of one line of a certificate file."""
    schema = _sealed_schema(TypeAdapter(Certificate).json_schema(), CERTIFICATE) | {"title": "lassi certificate"}
    names = [outcome.name.lower() for outcome in Outcome]
    schema["$defs"]["Outcome"] = {"title": "Outcome", "type": "string", "enum": names}
    return schema


def _sealed_schema(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """The schema with the first and the last key of a sealed document."""
    checksum = {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 of every byte before this key"}
    properties = {"lassi": {"const": kind}, **schema["properties"], "checksum": checksum}
    return schema | {"properties": properties, "required": ["lassi", *schema["required"], "checksum"]}
