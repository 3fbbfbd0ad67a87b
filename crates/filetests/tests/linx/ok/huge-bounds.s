# 2^34 groups: the limit ends it.
#: machine: linx
#: run: --arg out=u32[1] --limit 20000
#: hang: limit
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        B.DIM   zero, 131071, ->lb0
        B.DIM   zero, 131071, ->lb1
        B.DIM   zero, 131071, ->lb2
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  zero.ud, 1, ->t.d
        C.BSTOP
