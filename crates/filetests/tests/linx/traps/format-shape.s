# More elements than a tile has: family 1, detail 1.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): the shape exceeds a tile of 4 KB (TRAPNO 0x4000000200000005, TRAPARG0 0x101, BI 0, TPC 0x10016)
#|   --> format-shape.s:18:9
#|    |
#| 18 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x101, BI 0, TPC 0x10016
_start: C.BSTART.STD
        BSTART.TEPL TEXPANDS, FP32
        B.IOR   [sp],[]
        B.IOTI  [], last ->t<4KB>
        B.DIM   zero, 131071, ->lb0
        B.DIM   zero, 131071, ->lb1
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
