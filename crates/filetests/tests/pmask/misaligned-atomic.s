# Loads and stores need not be aligned, atomics have to be.
#: run:
#: trap: store-address-misaligned line=6 message="mcause 6, mepc 0x80000010, mtval 0x80000003"
    li   a0, 0x80000003
    ld   a1, 0(a0)
    amoadd.w a2, a3, (a0)
