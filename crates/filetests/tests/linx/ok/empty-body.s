# A body whose first instruction is a marker.
#: machine: linx
#: run: --arg out=u32[1]
#: expect: out = [5]
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  5, ->a1
        swi     a1, [a0, 0]
        c.movi  0, ->a0
        ebreak  0
body:   C.BSTART.STD
        ebreak  0
