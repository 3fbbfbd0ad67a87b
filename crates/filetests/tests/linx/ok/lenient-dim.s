# By option, a kernel without B.DIM has one lane.
#: machine: linx
#: run: --arg out=u32[1] --option lenient-dim=on
#: expect: out = [9]
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]

        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  zero.uw, 9, ->vt.w
        v.swi.brg vt#1.uw, [ri0, lc0<<2, 0]
        C.BSTOP
