# A handler that counts and traps again changes something each time: only the limit ends it.
#: run: --limit 10000
#: hang: limit
    la   t0, handler
    csrw mtvec, t0
.balign 4
handler:
    addi t1, t1, 1
    ecall
