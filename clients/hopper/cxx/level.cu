// A level of ThunderKittens' educational product for Hopper, at a size of the caller's: compiled with -DLEVEL='"level_08.cu"'. The level
// prints how many elements differ from its reference.
//   level N
#define main level_main
#include LEVEL
#undef main

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "%s N\n", argv[0]);
    return 2;
  }
  const std::size_t n = std::strtoull(argv[1], nullptr, 10);
  return run_benchmark(n, n, n);
}
