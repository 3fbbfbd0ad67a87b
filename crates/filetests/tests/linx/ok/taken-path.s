# By option, a kernel with two exits in a row: each group ends at the one that it reaches.
#: machine: linx
#: run: --arg out=u32[8] --option region=taken-path
#: warp-size: 1, 4
#: expect: out = [1, 1, 1, 1, 2, 2, 2, 2]
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.cmp.ltui lc0.ud, 4, ->p
        b.nz    low
        v.xori  zero.ud, -1, ->p
        v.addi  zero.uw, 2, ->vt.w
        v.swi.brg vt#1.uw, [ri0, lc0<<2, 0]
        C.BSTOP
low:    v.addi  zero.uw, 1, ->vt.w
        v.swi.brg vt#1.uw, [ri0, lc0<<2, 0]
        C.BSTOP
