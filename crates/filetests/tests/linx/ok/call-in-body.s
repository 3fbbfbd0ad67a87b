# A call marker in a body ends it like any marker; it is not executed.
#: machine: linx
#: run: --arg out=u32[8]
#: expect: out = [0, 1, 2, 3, 4, 5, 6, 7]
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
        BSTART.STD CALL, _start
        v.swi.brg zero.uw, [ri0, lc0<<2, 0]
        C.BSTOP
