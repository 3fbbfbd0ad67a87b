# Six source tiles; a kernel has names for four.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): more tiles than there are names: four sources, two destinations (TRAPNO 0x4000000200000005, TRAPARG0 0x105, BI 0, TPC 0x10018)
#|   --> format-too-many-tiles.s:19:9
#|    |
#| 19 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x105, BI 0, TPC 0x10018
_start: C.BSTART.STD
        BSTART.MPAR 0
        B.TEXT  body
        C.B.DIMI 4, ->lb0
        B.IOTI  [t#1, t#2]
        B.IOTI  [t#1, t#2]
        B.IOTI  [t#1, t#2]
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
