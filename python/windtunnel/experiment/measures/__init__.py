"""The language of metrics: what to measure of a run, as an expression that is data.

| file | idea |
|---|---|
| ``language.py`` | text to expression, its functions, and which tables it needs |
| ``paths.py`` | a path to what it names in a result |
| ``names.py`` | what each name means, and other words for it |
| ``values.py`` | what a path can name: a number, several, a column, a distribution |
| ``kinds.py`` | the kind and the unit of an expression |
| ``bbr.py`` | what a run shows of BBR's state machine, by the test cases of its draft |
| ``bbr_state.py`` | the rows of that state machine, in the draft's words |
| ``conditions.py`` | comparisons of expressions, for claims |
"""

from windtunnel.experiment.measures.conditions import Condition
from windtunnel.experiment.measures.language import Expression, MetricError
from windtunnel.experiment.measures.values import NotToldError

__all__ = ["Condition", "Expression", "MetricError", "NotToldError"]
