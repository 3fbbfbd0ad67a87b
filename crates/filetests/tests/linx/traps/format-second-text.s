# Two bodies: family 2, detail 2.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): more than one B.TEXT (TRAPNO 0x4000000200000005, TRAPARG0 0x202, BI 0, TPC 0x10010)
#|   --> format-second-text.s:17:9
#|    |
#| 17 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x202, BI 0, TPC 0x10010
_start: C.BSTART.STD
        BSTART.MPAR 0
        B.TEXT  body
        B.TEXT  body
        C.B.DIMI 4, ->lb0
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
