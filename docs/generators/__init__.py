"""Pages of the reference, made of what the program says of itself: each module has ``pages()``, texts by file name."""
