"""Attacks on the program from outside: hostile files, odd command lines and environments, kills at any moment.

``python -m fuzz.attacks KIND [--seconds S] [--cases N] [--seed N]``. Each case is made from its own seed alone, so that
``--seed N --cases 1`` repeats it; the folder of a failing case is kept in ``results/``.
"""
