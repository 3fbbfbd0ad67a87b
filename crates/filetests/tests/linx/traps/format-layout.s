# A fractal layout, which has no numbers: family 3, detail 1.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): this layout is not defined (TRAPNO 0x4000000200000005, TRAPARG0 0x103, BI 0, TPC 0x10012)
#|   --> format-layout.s:17:9
#|    |
#| 17 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x103, BI 0, TPC 0x10012
_start: C.BSTART.STD
        BSTART.TLOAD FP32
        B.ARG   ND2NZ
        B.IOR   [a0],[]
        B.IOTI  [], last ->t<4KB>
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
