# A jump to itself.
#: run:
#: hang: repeats
    pmset 1
here:
    bp.any 1, here
