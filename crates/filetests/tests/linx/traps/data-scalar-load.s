# A scalar load from an address that is not mapped.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[data-page-fault]: E_DATA(DATA_PAGE_FAULT): 4-byte load at 0x40 dereferences a null pointer plus 64 (TRAPNO 0x4000000000000023, TRAPARG0 0x40, BI 0, TPC 0x10002)
#|   --> data-scalar-load.s:14:9
#|    |
#| 14 | here:   lwi     [zero, 64], ->t
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000000000023, TRAPNUM 35, CAUSE 0x0, TRAPARG0 0x40, BI 0, TPC 0x10002
#|    = help: the option `map` can make an address good and go on
_start: C.BSTART.STD
here:   lwi     [zero, 64], ->t
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
