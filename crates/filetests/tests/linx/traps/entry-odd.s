# A launch at an odd address: no marker stands there.
#: machine: linx
#: run: --option entry=0x10001
#: fails 3:
#| error[cfi-missing-marker]: E_BLOCK(EC_CFI): a block start marker must stand at 0x10001 (TRAPNO 0x4000000103000005, TRAPARG0 0x10001, BI 0, TPC 0x10001)
#|   --> entry-odd.s:12:9
#|    |
#| 12 | _start: C.BSTART.STD
#|    |         ^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000103000005, TRAPNUM 5, CAUSE 0x103, TRAPARG0 0x10001, BI 0, TPC 0x10001
_start: C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
        .equ    here, _start+1
