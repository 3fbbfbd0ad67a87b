# A handler of the guest takes each fault of the kernels, notes address and place, and returns: what the launch maps on demand is
# there then, and the kernels go on with the mask, queues, counters and groups that they had.
#: machine: linx
#: run: --arg out=u64[12] --option map=0x3000000+4096,0x4000000+4096,0x5000000+4096
#: warp-size: 1, 4, 32, 64
#: expect: out[0, 8] = [80, 82, 84, 86, 80, 82, 84, 86]
#: expect: out[8, 4] = [332, 332, 3, 0xc000240]
        .param  out
_start: C.BSTART.STD
        hl.liu  handler, ->s0
        hl.ssrset s0, EVBASE_ACR1
        hl.liu  0x3000000, ->a1
        hl.liu  0x4000000, ->a2
        addi    a0, 32, ->a4
        hl.liu  0x5000000, ->a5
        BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0,a1,a2],[a3]
        C.B.DIMI 40, ->lb0
        C.B.DIMI 2, ->lb1
        BSTART.MPAR 0
        B.TEXT  body
        B.IOR   [a4,a5,a2],[a6]
        C.B.DIMI 40, ->lb0
        C.B.DIMI 2, ->lb1
        C.BSTART.STD
        sdi     a3, [a0, 64]
        sdi     a6, [a0, 72]
        sdi     s1, [a0, 80]                    # faults
        sdi     s2, [a0, 88]                    # the sum of their addresses
        c.movi  0, ->a0
        ebreak  0
handler: C.BSTART.SYS FALL
        addi    s1, 1, ->s1
        hl.ssrget TRAPARG0_ACR1, ->t
        add     s2, t#1, ->s2
        acre    0
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
