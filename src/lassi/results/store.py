"""``results.json``: written whole, read back, and described by a JSON Schema."""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lassi.base.errors import UserError
from lassi.base.files import write_whole
from lassi.certify.certificate import Certificate
from lassi.results.records import FORMAT, Results
from lassi.run.folder import RESULTS, existing_run


def write_results(results: Results, folder: Path) -> Path:
    """Write the results of a run to its folder."""
    path = folder / RESULTS
    write_whole(path, to_json(results))
    return path


def to_json(results: Results) -> bytes:
    """Results as the bytes of a JSON document."""
    return TypeAdapter(Results).dump_json(results, indent=1) + b"\n"


def read_results(folder: Path) -> Results:
    """The results of a run."""
    path = existing_run(folder) / RESULTS
    if not path.is_file():
        raise UserError(
            f"'{folder}' has no results yet.", hint=f"Run: lassi run {folder / 'recipe.json'} --out {folder}"
        )
    return from_json(path.read_bytes(), called=str(path))


def from_json(content: bytes, *, called: str) -> Results:
    """Results from the bytes of a JSON document."""
    try:
        results = TypeAdapter(Results).validate_json(content)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise UserError(
            f"'{called}' does not hold results from this version of lassi ('{where}').",
            hint="Run the recipe again in a new folder.",
        ) from None
    if results.format != FORMAT:
        raise UserError(
            f"'{called}' has format {results.format}, but this version of lassi reads format {FORMAT}.",
            hint="Run the recipe again in a new folder.",
        )
    return results


def results_schema() -> dict[str, Any]:
    """The JSON Schema of ``results.json``."""
    return TypeAdapter(Results).json_schema() | {"title": "lassi results"}


def certificate_schema() -> dict[str, Any]:
    """The JSON Schema of one line of a certificate file."""
    schema = TypeAdapter(Certificate).json_schema() | {"title": "lassi certificate"}
    from lassi.certify.certificate import Outcome

    names = [outcome.name.lower() for outcome in Outcome]
    schema["$defs"]["Outcome"] = {"title": "Outcome", "type": "string", "enum": names}
    return schema
