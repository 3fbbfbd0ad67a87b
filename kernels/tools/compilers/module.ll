; NVVM IR 2.0: what libNVVM compiles (compilers.py). A polynomial in f64, a maximum by shuffles, a sum by atomics.
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare { i32, i1 } @llvm.nvvm.shfl.sync.i32(i32, i32, i32, i32, i32)

define void @polynomial(double addrspace(1)* %x, i32 %degree) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr double, double addrspace(1)* %x, i32 %t
  %v = load double, double addrspace(1)* %at
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %more, %loop ]
  %power = fmul double %sum, %v
  %k = uitofp i32 %i to double
  %more = fadd double %power, %k
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, %degree
  br i1 %again, label %loop, label %done
done:
  store double %more, double addrspace(1)* %at
  ret void
}

define void @greatest(i32 addrspace(1)* %x) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr i32, i32 addrspace(1)* %x, i32 %t
  %v = load i32, i32 addrspace(1)* %at
  br label %loop
loop:
  %d = phi i32 [ 16, %entry ], [ %half, %loop ]
  %m = phi i32 [ %v, %entry ], [ %max, %loop ]
  %pair = call { i32, i1 } @llvm.nvvm.shfl.sync.i32(i32 -1, i32 3, i32 %m, i32 %d, i32 31)
  %other = extractvalue { i32, i1 } %pair, 0
  %more = icmp sgt i32 %other, %m
  %max = select i1 %more, i32 %other, i32 %m
  %half = lshr i32 %d, 1
  %again = icmp ne i32 %half, 0
  br i1 %again, label %loop, label %done
done:
  store i32 %max, i32 addrspace(1)* %at
  ret void
}

define void @total(i32 addrspace(1)* %x, i32 addrspace(1)* %sum) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr i32, i32 addrspace(1)* %x, i32 %t
  %v = load i32, i32 addrspace(1)* %at
  %old = atomicrmw add i32 addrspace(1)* %sum, i32 %v seq_cst
  ret void
}

!nvvm.annotations = !{!0, !1, !2}
!nvvmir.version = !{!3}
!0 = !{void (double addrspace(1)*, i32)* @polynomial, !"kernel", i32 1}
!1 = !{void (i32 addrspace(1)*)* @greatest, !"kernel", i32 1}
!2 = !{void (i32 addrspace(1)*, i32 addrspace(1)*)* @total, !"kernel", i32 1}
!3 = !{i32 2, i32 0}
