# A jump to where there is no memory.
#: run:
#: trap: instruction-access-fault message="mcause 1, mepc 0x10, mtval 0x10"
    li   a0, 0x10
    jr   a0
