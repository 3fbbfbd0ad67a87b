# Groups of a parallel kernel take tickets: in order without a seed, in another order with one, the same each time (pinned: who
# has a seed keeps an order). Those of a kernel in order always take them in order.
#: machine: linx
#: run: --arg plain=u32[8] --arg a=u32[8]
#: run: --arg mixed=u32[8] --arg b=u32[8] --option order=7
#: run: --arg again=u32[8] --arg c=u32[8] --option order=7
#: run: --arg other=u32[8] --arg d=u32[8] --option order=8
#: expect: plain = [0, 1, 2, 3, 4, 5, 6, 7]
#: expect: mixed = [5, 2, 7, 4, 1, 6, 3, 0]
#: expect: again = [5, 2, 7, 4, 1, 6, 3, 0]
#: expect: other multiset [0, 1, 2, 3, 4, 5, 6, 7]
#: expect: a = [0, 1, 2, 3, 4, 5, 6, 7]
#: expect: b = [0, 1, 2, 3, 4, 5, 6, 7]
#: expect: c = [0, 1, 2, 3, 4, 5, 6, 7]
#: expect: d = [0, 1, 2, 3, 4, 5, 6, 7]
        .param  tickets
        .param  inorder
_start: C.BSTART.STD
        hl.liu  counter, ->a2
        addi    a2, 4, ->a3
        BSTART.MPAR 0
        B.TEXT  body
        B.IOR   [a0,a2],[]
        C.B.DIMI 1, ->lb0
        C.B.DIMI 8, ->lb1
        BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a1,a3],[]
        C.B.DIMI 1, ->lb0
        C.B.DIMI 8, ->lb1
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  zero.ud, 1, ->vu.d
        v.lw.add [ri1], vu#1.uw, ->vt.w
        v.sw.brg vt#1.uw, [ri0, lc1.ud<<2]
        C.BSTOP
        .data
counter: .word  0, 0
