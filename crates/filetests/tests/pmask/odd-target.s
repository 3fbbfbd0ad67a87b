# Bit 0 of a target is no part of it; the upper half of an instruction is not an instruction.
#: run:
#: trap: illegal-instruction message="mepc 0x8000000e"
    la   a0, here
    jr   3(a0)
here:
    lui  a1, 0
