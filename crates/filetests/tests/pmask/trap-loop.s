# A handler whose first instruction traps is entered for ever.
#: run:
#: hang: repeats
    la   t0, handler
    csrw mtvec, t0
.balign 4
handler:
    .word 0
