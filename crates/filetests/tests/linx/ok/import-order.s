# An export takes an index among the imports, by option.
#: machine: linx
#: run: --arg out=u32[2] --option import-order=exports
#: expect: out = [11, 22]
        .param  out
_start: C.BSTART.STD
        c.movi  11, ->a1
        hl.liu  22, ->a2
        BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[a1]
        B.IOR   [a2],[]
        C.B.DIMI 1, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.swi.brg ri1.uw, [ri0, lc0<<2, 0]
        v.swi.brg ri2.uw, [ri0, lc0<<2, 4]
        C.BSTOP
