"""Claims: statements about runs, decided by a comparison of metrics.

| file | idea |
|---|---|
| ``model.py`` | a claim of a scenario or a campaign |
| ``decide.py`` | confirmed, refuted or undecided: of one value, or of the mean of several with its interval |
| ``junit.py`` | decisions as a JUnit report, for continuous integration |
"""
