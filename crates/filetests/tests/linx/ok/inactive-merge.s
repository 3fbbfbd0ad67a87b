# Inactive lanes of a push: merge.
#: machine: linx
#: run: --arg out=u32[8] --option inactive=merge
#: expect: out = [0, 1, 2, 19, 20, 21, 22, 23]
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  lc0.uw, 16, ->vt.w
        v.cmp.ltui lc0.ud, 3, ->p
        v.addi  lc0.uw, 0, ->vt.w
        v.xori  zero.ud, -1, ->p
        v.swi.brg vt#1.uw, [ri0, lc0<<2, 0]
        C.BSTOP
