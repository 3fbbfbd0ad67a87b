# A scalar tile operation without its scalar: family 4.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): a mandatory descriptor is missing (TRAPNO 0x4000000200000005, TRAPARG0 0x4, BI 0, TPC 0x1000c)
#|   --> format-missing-ior.s:16:9
#|    |
#| 16 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x4, BI 0, TPC 0x1000c
_start: C.BSTART.STD
        BSTART.TEPL TADDS, INT32
        B.IOTI  [t#1], last ->t<4KB>
        C.B.DIMI 4, ->lb0
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
