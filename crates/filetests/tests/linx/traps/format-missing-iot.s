# TSTORE without a tile: family 5 before family 4.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): a mandatory descriptor is missing (TRAPNO 0x4000000200000005, TRAPARG0 0x5, BI 0, TPC 0x1000a)
#|   --> format-missing-iot.s:15:9
#|    |
#| 15 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x5, BI 0, TPC 0x1000a
_start: C.BSTART.STD
        BSTART.TSTORE FP32
        B.ARG   NORM.normal
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
