// What kernels print, read back from the program's own output.
#include <string>
#include <unistd.h>

#include "check.h"

__global__ void hello() {
  if (threadIdx.x % 16 == 3)
    printf("thread %d of block %u: %5.2f %s %c %llx %%\n", threadIdx.x, blockIdx.x, threadIdx.x / 4.0, "text", 'x',
           0x123456789abcull + threadIdx.x);
}

__global__ void nothing_to_say() { printf("plain\n"); }

int main() {
  FILE *file = tmpfile();
  fflush(stdout);
  int real = dup(1);
  dup2(fileno(file), 1);
  hello<<<2, 32>>>();
  nothing_to_say<<<1, 1>>>();
  cudaError_t end = cudaDeviceSynchronize();
  dup2(real, 1);
  GIVES(end, cudaSuccess);
  std::string text;
  rewind(file);
  for (int c; (c = fgetc(file)) != EOF;) text += char(c);
  std::string want;
  for (int block = 0; block < 2; ++block)
    for (int thread : {3, 19}) {
      char line[100];
      snprintf(line, sizeof line, "thread %d of block %d: %5.2f text x %llx %%\n", thread, block, thread / 4.0,
               0x123456789abcull + thread);
      want += line;
    }
  want += "plain\n";
  CHECK(text == want);
  return finish();
}
