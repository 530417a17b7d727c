"""Results written and read back."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Literal

import pytest

import forebay as fb
from conftest import SMALL, Cli


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_saved_results_are_read_back(tmp_path: Path, result: fb.Result, format: Literal["parquet", "csv"]) -> None:
    assert result.path is None
    path = result.save(tmp_path / "out", format=format)
    assert path == tmp_path / "out"
    back = fb.open(path)
    assert back.path == path
    assert {**back.manifest, "tables": []} == {**result.manifest, "tables": []}
    assert repr(back) == repr(result)
    assert (back.variants, back.fingerprint, back.name) == (result.variants, result.fingerprint, result.name)
    for name in result.tables:
        ours, theirs = result.table(name).to_arrow(), back.table(name).to_arrow()
        assert ours.schema.names == theirs.schema.names
        assert ours.to_pylist() == theirs.to_pylist(), name
        assert back.table(name).units == result.table(name).units
    # Read results can be written again.
    again = fb.open(back.save(tmp_path / "again"))
    assert again.flows.to_arrow().to_pylist() == result.flows.to_arrow().to_pylist()


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_files_are_those_of_the_command(tmp_path: Path, format: Literal["parquet", "csv"], cli: Cli) -> None:
    file = tmp_path / "small.toml"
    file.write_text(fb.Scenario.from_dict(SMALL).to_toml())
    said = cli("run", file, "--out", tmp_path / "theirs", "--format", format, "--set", "topology.senders=3", "--seed", "9")
    assert said.returncode == 0, said.stderr
    r = fb.Scenario.load(file).with_({"topology.senders": 3}, seed=9).run()
    # Looked at or not, tables are written as they came.
    len(r.flows)
    r.save(tmp_path / "ours", format=format)
    theirs = {p.name: p.read_bytes() for p in (tmp_path / "theirs").iterdir() if p.suffix == f".{format}"}
    ours = {p.name: p.read_bytes() for p in (tmp_path / "ours").iterdir() if p.suffix == f".{format}"}
    assert ours == theirs
    manifests = [fb.open(tmp_path / d).manifest for d in ("ours", "theirs")]
    assert manifests[0]["scenario"] == manifests[1]["scenario"]
    assert manifests[0]["tables"] == manifests[1]["tables"]
    assert manifests[0]["fingerprint"] == manifests[1]["fingerprint"]


@pytest.mark.parametrize("format", ["pcapng", "csv"])
def test_captures_are_those_of_the_command(tmp_path: Path, format: str, cli: Cli) -> None:
    observe = {"capture": ["bottleneck"], "capture-format": format}
    s = fb.Scenario.from_dict({**SMALL, "observe": observe})
    file = tmp_path / "captured.toml"
    file.write_text(s.to_toml())
    said = cli("run", file, "--out", tmp_path / "theirs")
    assert said.returncode == 0, said.stderr
    r = s.run()
    r.save(tmp_path / "ours")
    # Results that were read or sent to another process have them too.
    fb.open(tmp_path / "ours").save(tmp_path / "read")
    pickle.loads(pickle.dumps(r)).save(tmp_path / "sent")
    pickle.loads(pickle.dumps(fb.open(tmp_path / "ours"))).save(tmp_path / "read-and-sent")
    theirs = {p.name: p.read_bytes() for p in (tmp_path / "theirs").glob("capture-*")}
    assert set(theirs) == {f"capture-{cc}-{run}.{format}" for cc in ("newreno", "dctcp") for run in (0, 1)}
    for name in ("ours", "read", "sent", "read-and-sent"):
        assert {p.name: p.read_bytes() for p in (tmp_path / name).glob("capture-*")} == theirs, name
        assert fb.open(tmp_path / name).manifest["captures"] == fb.open(tmp_path / "theirs").manifest["captures"]


def test_a_taken_directory_is_refused(tmp_path: Path, result: fb.Result, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(fb.Scenario.from_dict(SMALL).to_toml())
    result.save("out")
    with pytest.raises(fb.StoreError) as caught:
        result.save("out")
    said = cli("run", "small.toml", "--out", "out").stderr
    as_arguments = said.replace("add --force", "pass force=True").replace(" with --out", "")
    assert str(caught.value) + "\n" == as_arguments
    assert caught.value.help == "pass force=True to replace it, or choose another directory"
    assert caught.value.message in str(caught.value)
    assert isinstance(caught.value, OSError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.message, copy.help) == (str(caught.value), caught.value.message, caught.value.help)
    assert result.save("out", force=True) == Path("out")
    Path("other").mkdir()
    Path("other/file").touch()
    with pytest.raises(fb.StoreError, match="not a forebay run directory"):
        result.save("other", force=True)
    bad: Any = "xml"
    with pytest.raises(ValueError, match="legal are `parquet` and `csv`"):
        result.save("x", format=bad)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "out", "small.toml"]


def test_what_is_no_result(tmp_path: Path, result: fb.Result) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(fb.StoreError, match="holds no results"):
            fb.open(path)
    result.save(tmp_path / "out")
    (tmp_path / "out" / "flows.parquet").write_bytes(b"PAR1 torn")
    torn = fb.open(tmp_path / "out")
    assert len(torn.ports) == len(result.ports)
    with pytest.raises(fb.StoreError, match=r"flows\.parquet"):
        _ = torn.flows
