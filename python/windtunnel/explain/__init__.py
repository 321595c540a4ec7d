"""``windtunnel explain``: what a run or a capture tells about its senders.

One file for each question (the closing questions of "How TCP congestion control algorithms work"): what limits the
sender (``limits.py``), its window (``window.py``), a and b (``aimd.py``), overflows and whether flows lose together
(``overflow.py``), convergence (``convergence.py``), BBR's phases (``bbr_phases.py``), misbehaviour, bleached signals,
the place of the queue (``queue_place.py``), and which controller it is (``controllers.py``). What packets show of a
sender before any guess is in ``evidence/``.
"""

from windtunnel.explain.explanation import Explanation, explain

__all__ = ["Explanation", "explain"]
