"""Tasks to outcomes, wherever they are computed: in threads, in processes, or on other machines.

| file | idea |
|---|---|
| ``work.py`` | what is done with a task |
| ``loop.py`` | hands tasks to a backend and yields outcomes; knows neither what the work is nor where it is done |
| ``threads.py``, ``processes.py``, ``cluster.py`` | the backends |
| ``cache.py`` | outcomes by content, shared by all programs of a user |
| ``progress.py`` | how far it is, how many failed, and how long the rest will take |

The engine knows no scenarios. Who uses it says what a task is, in which order tasks come, and what its outcomes mean.
"""
