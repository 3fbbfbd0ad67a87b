# B.ATTR with DR asks for rows that share groups; the option lets it have them. Groups of four lanes: rows of three share them, or
# have one each.
#: machine: linx
#: run: --arg shared=u32[12] --arg own=u32[12] --option linear-groups=attr
#: warp-size: 4
#: expect: shared = [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]
#: expect: own = [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
        .param  shared
        .param  own
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.ATTR  DR
        B.IOR   [a0],[]
        C.B.DIMI 3, ->lb0
        C.B.DIMI 4, ->lb1
        BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a1],[]
        C.B.DIMI 3, ->lb0
        C.B.DIMI 4, ->lb1
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  zero.ud, 1, ->vm.d
        v.add   lc0.ud, zero.ud, ->vu.d
        v.psel  p.ud, vm#1.ud, vm#1.ud, ->vm.d
        v.rdadd vm#1.ud, ->t.d                  # lanes of the group
        v.add   vu#1.ud, lc1.ud<<1, ->vt.d
        v.add   vt#1.ud, lc1.ud, ->vt.d         # the linear index
        v.sw.brg t#1.uw, [ri0, vt#1.ud<<2]
        C.BSTOP
