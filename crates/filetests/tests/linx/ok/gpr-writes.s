# Groups of a parallel kernel write a general register, by option; each sees what the one before left.
#: machine: linx
#: run: --arg out=u32[1] --option gpr-writes=warn
#: expect: out = [3]
        .param  out
_start: BSTART.MPAR 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 4, ->lb0
        C.B.DIMI 3, ->lb1
        C.BSTART.STD
        swi     a7, [a0, 0]
        c.movi  0, ->a0
        ebreak  0
body:   addi    a7, 1, ->a7
        C.BSTOP
