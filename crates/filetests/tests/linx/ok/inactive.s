# What lanes that are off get in a pushed entry: what entry 1 had (merge), 0, or a value that shows (poison). Reading an entry of
# another hand is not a push: `vu` keeps what it had.
#: machine: linx
#: mechanism: exec, exec-zero, exec-poison
#: warp-size: 8, 64
#: run: --arg out=u32[8] --arg kept=u32[8]
#: expect(exec): out = [0, 1, 2, 19, 20, 21, 22, 23]
#: expect(exec-zero): out = [0, 1, 2, 0, 0, 0, 0, 0]
#: expect(exec-poison): out = [0, 1, 2, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef]
#: expect: kept = [7, 8, 9, 10, 11, 12, 13, 14]
#: may-differ: the policy of inactive lanes is what the test is about
        .param  out
        .param  kept
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0,a1],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  lc0.uw, 7, ->vu.w
        v.addi  lc0.uw, 16, ->vt.w
        v.cmp.ltui lc0.ud, 3, ->p
        v.addi  lc0.uw, 0, ->vt.w
        v.xori  zero.ud, -1, ->p
        v.swi.brg vt#1.uw, [ri0, lc0<<2, 0]
        v.swi.brg vu#1.uw, [ri1, lc0<<2, 0]
        C.BSTOP
