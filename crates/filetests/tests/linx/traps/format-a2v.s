# TMOV from the accumulator: refused as an argument.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): this layout is not defined (TRAPNO 0x4000000200000005, TRAPARG0 0x103, BI 0, TPC 0x1000e)
#|   --> format-a2v.s:16:9
#|    |
#| 16 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x103, BI 0, TPC 0x1000e
_start: C.BSTART.STD
        BSTART.TMOV FP32
        B.ARG   A2V
        B.IOTI  [t#1], last ->t<4KB>
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
