# L.BSTOP of older versions is not an instruction.
#: machine: linx
#: run: --arg out=u32[8]
#: trap: illegal-instruction line=14
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
        .word   0x0000000f, 0x00000001
