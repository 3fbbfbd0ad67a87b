# An instruction inside a header: family 0, detail 2.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[block-format]: E_BLOCK(EC_BLOCKFMT): payload inside a header (TRAPNO 0x4000000200000005, TRAPARG0 0x200, BI 0, TPC 0x1000a)
#|   --> format-payload.s:15:9
#|    |
#| 15 | here:   addi    a0, 1, ->a0
#|    |         ^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000005, TRAPNUM 5, CAUSE 0x200, TRAPARG0 0x200, BI 0, TPC 0x1000a
_start: C.BSTART.STD
        BSTART.MSEQ 0
        B.TEXT  body
here:   addi    a0, 1, ->a0
        C.B.DIMI 4, ->lb0
        C.BSTART.STD
        ebreak  0
body:   C.BSTOP
