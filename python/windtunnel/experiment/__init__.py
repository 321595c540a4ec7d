"""An experiment: a scenario, axes and seeds give runs; runs give numbers; numbers meet an expectation.

Campaigns, searches, packs, paper suites, the validation and claims are data on top of it. It knows neither pages nor
commands.

| file | idea |
|---|---|
| ``axes.py``, ``ranges.py`` | an axis and its values: settings of the scenario |
| ``measures/`` | the language of what is measured of a run |
| ``runs.py`` | a run to what is kept of it; what it need not record |
| ``reuse.py`` | runs that are not done again: a command's journal, and the cache of all commands |
| ``scales.py``, ``statistics.py`` | the kinds of quantities; values to means, intervals, comparisons and effects |
| ``expectation.py``, ``words.toml`` | what is expected of a number: limits, or a word that has some |
| ``verdict.py`` | the verdict on it, and the words in which people read verdicts |
"""
