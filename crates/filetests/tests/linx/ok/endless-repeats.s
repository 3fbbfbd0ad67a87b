# A body that runs in a circle without a store: the repeated state is found, without a limit.
#: machine: linx
#: run: --arg out=u32[1]
#: hang: repeats
        .param  out
_start: BSTART.MPAR 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  lc0.ud, 1, ->vt.d
        v.cmp.ltui lc0.ud, 3, ->p
        j       body
        C.BSTOP
