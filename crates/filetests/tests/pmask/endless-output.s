# A program that prints without end.
#: run:
#: trap: output-limit
_start:
    li   a7, 64
    li   a0, 1
    la   a1, _start
    li   a2, 0x100000
    ecall
    j    _start
