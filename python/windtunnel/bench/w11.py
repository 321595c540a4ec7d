"""The controller of W11: additive increase and multiplicative decrease in Python. It counts the ACKs that it
handles.
"""

from __future__ import annotations

from math import inf

import windtunnel as wt


class BenchAimd:
    """Reno's window, in bytes: its work per ACK is about that of other controllers in Python."""

    #: ACKs that the controllers in this process have handled.
    acks = 0

    def on_start(self, flow: wt.FlowInit) -> None:
        """Start with the initial window."""
        self.mss, self.cwnd, self.ssthresh = flow.mss, float(flow.iw), inf

    def on_ack(self, ack: wt.AckSample, path: wt.PathView) -> None:
        """Grow by what was delivered, or by one segment per round trip."""
        BenchAimd.acks += 1
        if not ack.growth_barred:
            slow_start = self.cwnd < self.ssthresh
            self.cwnd += ack.newly_delivered * (1 if slow_start else self.mss / self.cwnd)

    def on_congestion(self, event: wt.CongestionEvent, path: wt.PathView) -> bool:
        """Halve the window."""
        self.cwnd = self.ssthresh = max(self.cwnd / 2, 2 * self.mss)
        return True

    def on_rto(self, new_episode: bool, path: wt.PathView) -> None:
        """Start again with one segment."""
        self.ssthresh, self.cwnd = max(self.cwnd / 2, 2 * self.mss), self.mss

    def control(self) -> wt.Control:
        """Window and threshold."""
        return wt.Control(self.cwnd, self.ssthresh, slow_start=self.cwnd < self.ssthresh)


wt.register_controller("bench-aimd", BenchAimd)
