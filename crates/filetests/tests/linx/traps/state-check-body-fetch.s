# A handler that wants to go on after EC_BFETCH: refused.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| warning[linx::body]: the branch goes to 0x10000, outside the body
#|   --> state-check-body-fetch.s:29:9
#|    |
#| 29 |         j       _start
#|    |         ^^^^^^^^^^^^^^
#|    |
#|    = note: in the body of a kernel
#|
#| error[exec-state-check]: EXEC_STATE_CHECK: a body-fetch trap cannot be resumed (TRAPNO 0x0000000000000000, TRAPARG0 not valid, BI 0, TPC 0x1002e)
#|   --> state-check-body-fetch.s:32:9
#|    |
#| 32 | here:   acre    0
#|    |         ^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x0000000000000000, TRAPNUM 0, CAUSE 0x0, TRAPARG0 not valid, BI 0, TPC 0x1002e
_start: C.BSTART.STD
        hl.liu  handler, ->a1
        hl.ssrset a1, EVBASE_ACR1
        BSTART.MSEQ 0
        B.TEXT  body
        C.B.DIMI 1, ->lb0
        C.BSTART.STD
        ebreak  0
body:   v.addi  zero.ud, 0, ->t.d
        j       _start
        C.BSTOP
handler: C.BSTART.SYS FALL
here:   acre    0
