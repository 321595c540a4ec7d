"""Table 8: SCE marks per second in the steady state, one and two Scalable-MDS flows, and what the model says."""

from __future__ import annotations

from windtunnel import models
from windtunnel.papers.data_folder import MDS
from windtunnel.papers.mds.plan import perturbed_runs
from windtunnel.papers.rows import Row, compare, printed_precision
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results, given

#: Marks in the measurement window of the scenario, per second.
RATE = Measurement("summary", "queue 0", 'window_rate("steady", "sce")')


def setup_name(rate_mbps: str, rtt_ms: str, flows: int) -> str:
    """``table8/100Mbps-5ms-2``."""
    return f"table8/{rate_mbps}Mbps-{rtt_ms}ms-{flows}"


def frequency_group(setups: dict[str, Setup]) -> Group:
    """The group of table 8."""
    lines = MDS.table("tables/table8.csv")
    names = []
    for line in lines:
        for flows in (1, 2):
            name = setup_name(line["rate_mbps"], line["rtt_ms"], flows)
            setup = Setup(
                name,
                MDS.template("table8"),
                (f"flow.0.count={flows}",),
                float(line["rate_mbps"]),
                (float(line["rtt_ms"]),),
            )
            setup.perturbed = perturbed_runs(setup, figure=False, quick=False)
            setup.index(RATE)
            setups[name] = setup
            names.append(name)

    def rows(results: Results) -> list[Row]:
        out = []
        for line in lines:
            rate, rtt = float(line["rate_mbps"]) * 1e6, float(line["rtt_ms"]) * 1e-3
            what = f"{line['rate_mbps']} Mbit/s, {line['rtt_ms']} ms"
            base = f"table8/{line['rate_mbps']}Mbps-{line['rtt_ms']}ms"
            bdp = float(models.bandwidth_delay_product(rate, rtt))
            printed_bdp = float(line["bdp_bytes"])
            row = compare(f"{base}/bdp", "table8", f"{what}: BDP", printed_bdp, 0.5, [bdp], "bytes")
            out.append(given(row, "rate times RTT"))
            for flows, column in ((1, "one_flow_hz"), (2, "two_flows_hz")):
                name, printed = setup_name(line["rate_mbps"], line["rtt_ms"], flows), float(line[column])
                text = f"{what}: {flows} flow{'s'[: flows - 1]}"
                index = setups[name].index(RATE)
                values, measurement = results.values(name, index), setups[name].identity(index)
                precision = printed_precision(line[column])
                row = compare(
                    f"{base}/{flows}", "table8", text, printed, precision, values, "Hz", measurement=measurement
                )
                out.append(row)
                model = float(models.steady_sce_frequency(rate, rtt, flows))
                note = "a continuous approximation, a few percent high: marked ACKs do not grow the window"
                out.append(
                    Row(f"{base}/{flows}/model", "table8", f"{text}, model", printed, model, None, "Hz", "info", note)
                )
        return out

    return Group("table8", "Table 8", MDS.toml("captions.toml")["table"]["8"], names, rows)
