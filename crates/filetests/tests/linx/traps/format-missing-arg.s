# TLOAD with nothing: B.ARG comes first of five families.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): a mandatory descriptor is missing (TRAPNO 0x4000000200000005, TRAPARG0 0x3, BI 0, TPC 0x10006)
#|   --> format-missing-arg.s:15:9
#|    |
#| 15 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x3, BI 0, TPC 0x10006
_start: C.BSTART.STD
        BSTART.TLOAD FP32

here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
