"""Files of `forebay export`, read as their own programs read them."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "forebay"]

SCENARIO = """
name = "uploads"
duration = "100ms"
[topology]
kind = "many-to-one"
senders = 4
access     = { rate = "1Gbps", delay = "25us" }
bottleneck = { rate = "1Gbps", delay = "25us", buffer = "30pkt" }
[transport]
stack = "linux"
[[workload]]
kind = "long"
[observe]
tcp = { flows = [0], every = "1ms" }
"""

#: Flent's own loader. Its modules warn on newer versions of Python, so it has a process of its own.
LOADER = """
import json, sys
from flent.resultset import load

result = load(sys.argv[1])
rtt = list(result.raw_series("TCP upload::1", raw_key="tcp_rtt"))
print(json.dumps({"title": result.title, "series": result.series_names, "times": result.x_values,
                  "sum": result.series("TCP upload sum"), "rtt": rtt}))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports")
    (folder / "uploads.toml").write_text(SCENARIO)
    run = [*COMMAND, "run", "uploads.toml", "--no-report", "--quiet", "--out", "r"]
    subprocess.run(run, cwd=folder, check=True, capture_output=True)
    return folder


def test_flent_loads_the_export(results: Path) -> None:
    subprocess.run([*COMMAND, "export", "r", "--format", "flent"], cwd=results, check=True, capture_output=True)
    loader = [sys.executable, "-W", "ignore", "-c", LOADER, "results.flent.gz"]
    said = subprocess.run(loader, cwd=results, check=True, capture_output=True, text=True)
    loaded = json.loads(said.stdout)
    assert loaded["title"] == "tcp_nup - uploads, newreno, seed 1"
    assert sorted(loaded["series"]) == ["TCP upload avg", "TCP upload fairness", "TCP upload sum", "TCP upload::1"]
    # A link of 1 Gbps that is busy all the time.
    assert len(loaded["times"]) == len(loaded["sum"])
    assert 800 < sorted(loaded["sum"])[len(loaded["sum"]) // 2] < 1000
    # Smoothed RTTs in ms: 0.1 ms on the way, and at most twice the 0.37 ms of a full buffer in both queues.
    assert len(loaded["rtt"]) > 50
    assert all(0.1 <= rtt < 0.85 for _, rtt in loaded["rtt"])


def nanoseconds(text: str) -> float:
    """Read a time as the scripts of ns-3 do: a number before the unit."""
    assert text.endswith("ns")
    return float(text[:-2])


def test_flow_monitor_has_all_attributes(results: Path) -> None:
    subprocess.run([*COMMAND, "export", "r", "--format", "flowmonitor"], cwd=results, check=True, capture_output=True)
    root = ET.parse(results / "flowmonitor.xml").getroot()
    flows = root.findall("FlowStats/Flow")
    ends = {e.get("flowId"): e for e in root.findall("Ipv4FlowClassifier/Flow")}
    assert len(flows) == len(ends) == 8
    for flow in flows:
        times = {name: nanoseconds(value) for name, value in flow.attrib.items() if value.endswith("ns")}
        assert set(times) == {
            *("timeFirstTxPacket", "timeFirstRxPacket", "timeLastTxPacket", "timeLastRxPacket"),
            *("delaySum", "jitterSum", "lastDelay", "maxDelay", "minDelay"),
        }
        received, sent = int(flow.attrib["rxPackets"]), int(flow.attrib["txPackets"])
        assert 0 < received <= sent - int(flow.attrib["lostPackets"])
        assert times["minDelay"] <= times["delaySum"] / received <= times["maxDelay"]
        assert int(flow.attrib["timesForwarded"]) >= received
        end = ends[flow.get("flowId")]
        assert end.attrib["protocol"] == "6"
        assert sum(int(d.attrib["packets"]) for d in end.findall("Dscp")) == sent
