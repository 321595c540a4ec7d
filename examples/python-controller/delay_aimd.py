"""AIMD that also answers a growing queue: `windtunnel run delay_aimd.toml --plugin delay_aimd.py`."""

from dataclasses import dataclass
from math import inf

import windtunnel as wt


@dataclass
class DelayAimd:
    """Additive increase, multiplicative decrease on losses, CE, and a queueing delay above a target."""

    a: float = 1.0  # segments more per round trip
    md: float = 0.7  # the factor of cwnd that a decrease keeps
    target: float = wt.quantity("10 ms")  # queueing delay in seconds

    def on_start(self, flow: wt.FlowInit) -> None:
        self.mss, self.cwnd, self.ssthresh, self.answered = flow.mss, flow.iw, inf, 0

    def on_ack(self, ack: wt.AckSample, path: wt.PathView) -> None:
        if ack.rtt is not None and ack.rtt - path.min_rtt > self.target:
            self.on_congestion(None, path)
        elif not ack.growth_barred:
            slow_start = self.cwnd < self.ssthresh
            self.cwnd += ack.newly_delivered * (1 if slow_start else self.a * self.mss / self.cwnd)

    def on_congestion(self, event: wt.CongestionEvent | None, path: wt.PathView) -> bool:
        if reduces := path.una >= self.answered:  # at most once per round trip
            self.cwnd = self.ssthresh = max(self.md * self.cwnd, 2 * self.mss)
            self.answered = path.nxt
        return reduces

    def on_rto(self, new_episode: bool, path: wt.PathView) -> None:
        self.ssthresh, self.cwnd = max(self.cwnd / 2, 2 * self.mss), self.mss

    def control(self) -> wt.Control:
        return wt.Control(self.cwnd, self.ssthresh, slow_start=self.cwnd < self.ssthresh)


wt.register_controller("delay-aimd", DelayAimd)
