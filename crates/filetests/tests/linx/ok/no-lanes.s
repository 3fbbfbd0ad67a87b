# LB0 is 0: no group runs, and the next block follows.
#: machine: linx
#: run: --arg out=u32[2]
#: expect: out = [0, 7]
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 0, ->lb0
        C.BSTART.STD
        c.movi  7, ->a1
        swi     a1, [a0, 4]
        c.movi  0, ->a0
        ebreak  0
body:   v.swi.brg lc0.uw, [ri0, 0]
        C.BSTOP
