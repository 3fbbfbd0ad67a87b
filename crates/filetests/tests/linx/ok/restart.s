# Four buffers are mapped only when a fault asks for them, two by groups in order and two by groups in an order of the seed; the
# kernels go on where they stood, with the mask, queues and counters that they had: results are those of a run without a fault.
#: machine: linx
#: run: --arg out=u64[18] --option map=0x3000000+4096,0x4000000+4096,0x5000000+4096,0x6000000+4096
#: run: --option order=5 --arg other=u64[18] --option map=0x3000000+4096,0x4000000+4096,0x5000000+4096,0x6000000+4096
#: warp-size: 1, 4, 32, 64
#: expect: out = [80, 82, 84, 86, 0, 0, 0, 0, 332, 80, 82, 84, 86, 0, 0, 0, 0, 332]
#: expect: other = [80, 82, 84, 86, 0, 0, 0, 0, 332, 80, 82, 84, 86, 0, 0, 0, 0, 332]
        .param  out
_start: C.BSTART.STD
        hl.liu  0x3000000, ->a1
        hl.liu  0x4000000, ->a2
        addi    a0, 72, ->a4
        hl.liu  0x5000000, ->a5
        hl.liu  0x6000000, ->a6
        BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0,a1,a2],[a3]
        C.B.DIMI 40, ->lb0
        C.B.DIMI 2, ->lb1
        BSTART.MPAR 0
        B.TEXT  body
        B.IOR   [a4,a5,a6],[a7]
        C.B.DIMI 40, ->lb0
        C.B.DIMI 2, ->lb1
        C.BSTART.STD
        sdi     a3, [a0, 64]
        sdi     a7, [a4, 64]
        c.movi  0, ->a0
        ebreak  0
body:   v.cmp.geui lc0.ud, 36, ->p              # few lanes on when the fault comes
        v.addi  p.ud, 0, ->t.d
        v.add   lc0.ud, lc1.ud<<3, ->vt.d
        v.sd.brg vt#1.ud, [ri1, lc0<<3, lc1.ud<<10]     # not mapped yet
        v.subi  lc0.ud, 36, ->vu.d
        v.ld.brg [ri1, lc0<<3, lc1.ud<<10], ->vm.d
        v.add   ri2.ud, vu#1.ud<<3, ->vn.d
        v.ld.add [vn#1], vm#1.ud, ->vm.d                # not mapped yet
        v.add   vn#1.ud, zero.ud, ->vu.d
        v.addi  t#1.ud, 0, ->p
        v.add   ri2.ud, zero.ud, ->t.d
        v.sub   vu#1.ud, t#1.ud, ->vu.d                 # 0, 8, 16, 24
        v.add   ri0.ud, vu#1.ud, ->vu.d
        v.sd.add [vu#1], vt#1.ud
        v.rdadd vt#1.ud, ->ro0.d
        C.BSTOP
