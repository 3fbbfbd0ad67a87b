# No marker where a kernel would go on: nothing of the kernel runs.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[cfi-missing-marker]: E_BLOCK(EC_CFI): a block start marker must stand at 0x10018 (TRAPNO 0x4000000103000005, TRAPARG0 0x10016, BI 0, TPC 0x10016)
#|   --> cfi-no-marker-behind-header.s:18:9
#|    |
#| 18 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000103000005, TRAPNUM 5, CAUSE 0x103, TRAPARG0 0x10016, BI 0, TPC 0x10016
_start: C.BSTART.STD
        hl.liu  out, ->a0
        BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 4, ->lb0
here:   C.BSTOP
body:   v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
        C.BSTOP
        .data
out:    .space 64
