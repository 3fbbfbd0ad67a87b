# A tile of 8 KB: family 5, detail 1.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): a tile size that is not 512 B, 1 KB, 2 KB or 4 KB (TRAPNO 0x4000000200000005, TRAPARG0 0x105, BI 0, TPC 0x10010)
#|   --> format-tile-size.s:17:9
#|    |
#| 17 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x105, BI 0, TPC 0x10010
_start: C.BSTART.STD
        BSTART.MPAR 0
        B.TEXT  body
        C.B.DIMI 4, ->lb0
        B.IOTI  [], last ->t<8KB>
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
