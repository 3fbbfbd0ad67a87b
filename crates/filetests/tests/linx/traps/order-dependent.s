# Two groups write the same word: the result depends on which is the last. It is a verdict, with both lines, and no fault.
#: machine: linx
#: run: --arg x=u32[4] --option conflicts=on
#: fails 1:
#| error[order-dependent]: the result depends on the order of groups: byte 0 of "x" (0x700000000)
#|   --> order-dependent.s:30:9
#|    |
#| 27 |         v.sw.brg lc0.uw, [ri0, lc0<<2, zero.ud<<2]
#|    |         ------------------------------------------ group 0 has used it here
#| ...
#| 30 |         v.sw.brg lc1.uw, [ri0, lc0<<2, zero.ud<<2]
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ group 1 uses it here
#|    |
#|    = note: one of them writes it, or updates it in a way that does not commute
#|    = help: MSEQ runs groups in order; stores of equal bytes do not count
        .param  x
_start: BSTART.MPAR 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 2, ->lb0
        C.B.DIMI 2, ->lb1
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.cmp.eqi lc1.uw, 0, ->p
        b.z     second
        v.sw.brg lc0.uw, [ri0, lc0<<2, zero.ud<<2]
        j       done
second: v.xori  zero.ud, -1, ->p
        v.sw.brg lc1.uw, [ri0, lc0<<2, zero.ud<<2]
done:   C.BSTOP
