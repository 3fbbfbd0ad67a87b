# A load outside memory, after some that are inside.
#: run:
#: trap: load-access-fault line=6 message="mcause 5, mepc 0x80000008, mtval 0x8) with no trap handler set: 8-byte load at 0x8"
    lw   a1, -8(sp)
    nop
    ld   a0, 8(zero)
