"""The command that regenerates the paper's evaluation."""

import json
from pathlib import Path

import pytest
from reproduction.__main__ import app
from reproduction.verdicts import UNCHECKED
from typer.testing import CliRunner

from priste import PristeError


@pytest.mark.usefixtures("one_curve")
def test_a_report_is_written_and_what_is_missing_is_said(tmp_path: Path) -> None:
    options = ["--fast", "--out", str(tmp_path / "report")]
    ended = CliRunner().invoke(app, [*options, "--workers", "1"])
    assert ended.exit_code == 0, ended.output
    assert "Missing: Geolife: give --geolife" in ended.output
    assert f"Report:  {tmp_path / 'report' / 'report.html'}" in ended.output
    found = json.loads(CliRunner().invoke(app, [*options, "--json"]).stdout)
    assert Path(found["report"]).exists()
    assert UNCHECKED in {claim["verdict"] for claim in found["claims"]}


def test_a_folder_without_tracks_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "report"
    ended = CliRunner().invoke(app, ["--fast", "--out", str(out), "--geolife", str(tmp_path)])
    assert isinstance(ended.exception, PristeError)
    assert "holds no .plt files" in str(ended.exception)
    assert not out.exists()
