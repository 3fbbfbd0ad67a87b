# LB1 and LB2 that are 0 count as 1.
#: machine: linx
#: run: --arg out=u32[9]
#: expect: out = [0, 1, 2, 3, 4, 5, 6, 7, 0]
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.B.DIMI 0, ->lb1
        B.DIM   zero, 0, ->lb2
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.add   lc0.uw, lc1.uw, ->vt.w
        v.add   vt#1.uw, lc2.uw, ->vt.w
        v.swi.brg vt#1.uw, [ri0, lc0<<2, 0]
        C.BSTOP
