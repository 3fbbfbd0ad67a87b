# The fifth lane stores behind the end of memory: the four before it are done, and it is named.
#: run:
#: fails 3:
#| error[store-access-fault]: store-access-fault (mcause 7, mepc 0x80000020, mtval 0x88000000) with no trap handler set: 4-byte store at 0x88000000 is right past the end of "RAM" (134217728 bytes at 0x80000000)
#|   --> lane-store.s:18:5
#|    |
#| 18 |     sw   x16, 0(a0)
#|    |     ^^^^^^^^^^^^^^^ here
#|    |
#|    = note: at 0x80000020
#|    = note: in lane {4}
    li   t0, 0x100
    csrw svsrcb, t0
    csrw svdst, t0
    svsetvl x0, 8
    li   a0, 0x87fffff0
    svon.one
    sw   x16, 0(a0)
