# By option, branches compare general registers only.
#: machine: linx
#: run: --arg out=u32[1] --option strict-branches=on
#: trap: illegal-instruction
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  zero.ud, 1, ->t.d
        b.eq    t#1, zero, body
        C.BSTOP
