# The program does not start with a marker.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[cfi-missing-marker]: E_BLOCK(EC_CFI): a block start marker must stand at 0x10000 (TRAPNO 0x4000000103000005, TRAPARG0 0x10000, BI 0, TPC 0x10000)
#|   --> cfi-no-marker-first.s:13:9
#|    |
#| 13 | here:   addi    a0, 1, ->a0
#|    |         ^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000103000005, TRAPNUM 5, CAUSE 0x103, TRAPARG0 0x10000, BI 0, TPC 0x10000
_start:
here:   addi    a0, 1, ->a0
        C.BSTART.STD
        ebreak  0
