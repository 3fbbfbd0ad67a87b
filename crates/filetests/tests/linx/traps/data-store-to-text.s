# A scalar store to the text.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[data-page-fault]: E_DATA(DATA_PAGE_FAULT): 4-byte store at 0x10002 writes read-only memory: it is at byte 2 of ".text" (18 bytes at 0x10000) (TRAPNO 0x4000000000000023, TRAPARG0 0x10002, BI 0, TPC 0x10006)
#|   --> data-store-to-text.s:14:9
#|    |
#| 14 | here:   swi     a1, [a1, 0]
#|    |         ^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000000000023, TRAPNUM 35, CAUSE 0x0, TRAPARG0 0x10002, BI 0, TPC 0x10006
_start: C.BSTART.STD
        addtpc  0, ->a1
here:   swi     a1, [a1, 0]
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
