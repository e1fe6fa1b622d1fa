"""results.json is the records' serialisation: it comes back as it was, and its schema is published."""

import json
import shutil
from pathlib import Path

import pytest

from lassi.base.errors import UserError
from lassi.results.store import certificate_schema, from_json, read_results, results_schema, to_json
from lassi.run.run import Run
from sealing import forge


def test_results_come_back_as_they_were(tiny_run: Run) -> None:
    text = (tiny_run.folder / "results.json").read_bytes()
    assert to_json(from_json(text, called="results")) == text


def test_what_a_run_writes_obeys_its_schema(tiny_run: Run) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads((tiny_run.folder / "results.json").read_text()), results_schema())
    file = next((tiny_run.folder / "certificates").glob("*exact-joint*.jsonl"))
    lines = file.read_text().splitlines()
    assert len(lines) == 20
    for line in lines:
        jsonschema.validate(json.loads(line), certificate_schema())
    with pytest.raises(jsonschema.ValidationError, match="'proven' is not one of"):
        jsonschema.validate(json.loads(lines[0]) | {"outcome": "proven"}, certificate_schema())


def test_results_of_another_format_are_refused_in_one_sentence(tiny_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    shutil.copy(tiny_run.folder / "results.json", path)
    forge(path, lambda content: content.pop("cells"))
    with pytest.raises(UserError, match=r"was not written by this version of lassi \(see 'cells'\)"):
        from_json(path.read_bytes(), called="r")
    forge(path, lambda content: content.update(format=1))
    with pytest.raises(UserError, match=r"has format 1, but this version of lassi reads format 4"):
        from_json(path.read_bytes(), called="results.json")
    forge(path, lambda content: content.update(format=list(range(1000))))
    with pytest.raises(UserError, match=r"has format \[0, 1, 2.{,80}…") as refused:
        from_json(path.read_bytes(), called="results.json")
    assert len(str(refused.value)) < 300, "a forged value is quoted in part"
    with pytest.raises(UserError, match="is not a run"):
        read_results(tmp_path)
