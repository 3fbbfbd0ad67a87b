# Five exports; a kernel has names for four.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): more scalars than there are names: twelve imports, four exports (TRAPNO 0x4000000200000005, TRAPARG0 0x104, BI 0, TPC 0x10020)
#|   --> format-too-many-exports.s:21:9
#|    |
#| 21 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x104, BI 0, TPC 0x10020
_start: C.BSTART.STD
        BSTART.MSEQ 0
        B.TEXT  body
        C.B.DIMI 4, ->lb0
        B.IOR   [],[s0]
        B.IOR   [],[s1]
        B.IOR   [],[s2]
        B.IOR   [],[s3]
        B.IOR   [],[s4]
here:   C.BSTOP
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTOP
