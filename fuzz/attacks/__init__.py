"""The program under attack, from outside: hostile files, odd command lines and environments, kills at any moment.

``python -m fuzz.attacks KIND [--seconds S] [--cases N] [--seed N]``. Each case is made from its own seed alone, so that
``--seed N --cases 1`` makes a case again; the folder of one that fails is kept in ``results/``.
"""
