# Without the option such an instruction is lane-wise and may not go to a scalar queue.
#: machine: linx
#: run: --arg out=u32[2]
#: trap: illegal-instruction
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  lc0.ud, 0, ->t.d
        C.BSTOP
