"""Evidence: what packets show directly, before any guess which controller it is. One file for each kind.

Answers to congestion (``answers.py``) are found once; reductions, ECN and others look at them. Numbers of published
laws are in ``published.py`` alone, and ``sentences.py`` puts them next to what was measured.
"""

from windtunnel.explain.evidence.answers import CongestionAnswer, answers_of
from windtunnel.explain.evidence.collect import evidence

__all__ = ["CongestionAnswer", "answers_of", "evidence"]
