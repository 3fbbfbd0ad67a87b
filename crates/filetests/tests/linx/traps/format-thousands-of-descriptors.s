# Far more descriptors than anything has use for.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): more tiles than there are names: four sources, two destinations (TRAPNO 0x4000000200000005, TRAPARG0 0x105, BI 0, TPC 0x12eec)
#|   --> format-thousands-of-descriptors.s:17:9
#|    |
#| 17 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x105, BI 0, TPC 0x12eec
_start: C.BSTART.STD
        BSTART.MPAR 0
        B.TEXT  body
        C.B.DIMI 4, ->lb0
        .fill   3000, 4, 0x00010013
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
