# TLOAD of a row that is not mapped: no tile is pushed.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[data-page-fault]: E_DATA(DATA_PAGE_FAULT): 512-byte load at 0x0 dereferences a null pointer (TRAPNO 0x4000000000000023, TRAPARG0 0x0, BI 0, TPC 0x10016)
#|   --> data-tload.s:19:9
#|    |
#| 19 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000000000023, TRAPNUM 35, CAUSE 0x0, TRAPARG0 0x0, BI 0, TPC 0x10016
#|    = help: the option `map` can make an address good and go on
_start: C.BSTART.STD
        BSTART.TLOAD FP32
        B.ARG   NORM.normal
        B.IOR   [zero,x0],[]
        B.IOR   [x0],[]
        B.IOTI  [], last ->t<512B>
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
