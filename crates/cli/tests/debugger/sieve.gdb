# A session of GDB with a C program for the machine pmask.
set pagination off
set confirm off
set width 0
set style enabled off
break entry
continue
info registers pc
watch *(unsigned long *) &primes
continue
info registers pc
print *(unsigned long *) &primes
reverse-continue
print *(unsigned long *) &primes
continue
delete
tbreak print_number
continue
backtrace 2
x/2i $pc
stepi
info registers pc
reverse-stepi
info registers pc
info registers a0 a1 a2 bank1 svstate
x/7c $a0
set var *(unsigned long *) &primes = 5
print *(unsigned long *) &primes
set var $a2 = 5
monitor info branches
monitor who a1
break entry
reverse-continue
info registers pc
continue
