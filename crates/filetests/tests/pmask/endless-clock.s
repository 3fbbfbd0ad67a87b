# A loop that waits for the clock looks the same each time, but goes on in the end.
#: run:
#: trap: exit-code
    li   t1, 400000
    li   a0, 7
again:
    rdcycle t0
    sltu t0, t0, t1
    bnez t0, again
    li   a7, 93
    ecall
