# By option, reading lc0 alone does not make an instruction lane-wise: the first lane is read.
#: machine: linx
#: run: --arg out=u32[2] --option lc0=group
#: warp-size: 4
#: expect: out = [4, 0]
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  lc0.ud, 0, ->t.d
        v.swi.brg t#1.uw, [ri0, 0]
        C.BSTOP
