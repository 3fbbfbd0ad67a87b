# A body for a block without one; it comes before what is missing.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): this block has no body (TRAPNO 0x4000000200000005, TRAPARG0 0x202, BI 0, TPC 0x1000a)
#|   --> format-text-in-tload.s:15:9
#|    |
#| 15 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x202, BI 0, TPC 0x1000a
_start: C.BSTART.STD
        BSTART.TLOAD FP32
        B.TEXT  body
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
