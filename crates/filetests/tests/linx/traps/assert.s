# ASSERT of zero.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[assert-fail]: ASSERT_FAIL: the asserted value is 0 (TRAPNO 0x0000000000000034, TRAPARG0 not valid, BI 0, TPC 0x10002)
#|   --> assert.s:13:9
#|    |
#| 13 | here:   assert  zero
#|    |         ^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x0000000000000034, TRAPNUM 52, CAUSE 0x0, TRAPARG0 not valid, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   assert  zero
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
