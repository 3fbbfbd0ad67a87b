# A body that branches to itself: the limit ends it.
#: machine: linx
#: run: --arg out=u32[1] --limit 20000
#: hang: limit
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   j       body
        C.BSTOP
