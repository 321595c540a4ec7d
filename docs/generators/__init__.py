"""Pages of the reference, written from the program itself: each module has ``pages()``, texts by file name."""
