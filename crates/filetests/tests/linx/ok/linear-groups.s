# Rows of three lanes share groups: the sum over a group of the linear space, stored by each lane.
#: machine: linx
#: run: --arg out=u32[12] --option linear-groups=on
#: warp-size: 4
#: expect: out = [1, 1, 1, 1, 6, 6, 6, 6, 11, 11, 11, 11]
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 3, ->lb0
        C.B.DIMI 4, ->lb1
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.rdadd lc1.uw, ->t.w
        v.add   lc1.ud, lc1.ud<<1, ->vt.d
        v.add   vt#1.ud, lc0.ud, ->vt.d         # the linear index
        v.sw.brg t#1.uw, [ri0, vt#1.ud<<2]
        C.BSTOP
