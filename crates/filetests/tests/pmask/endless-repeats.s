# A loop whose state comes again is found at once, long before the limit of steps.
#: run: --limit 9000000000
#: hang: repeats
    li   t0, 5
again:
    addi t1, t0, 1
    addi t1, t1, -1
    j    again
