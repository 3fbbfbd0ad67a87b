# Makes a static library that forwards to a shared one (forward.c); other scripts read this file.

# forwarding SHARED FOLDER NAME PREFIX SECTION STATUS: FOLDER/NAME with all functions of the shared library SHARED.
forwarding() {
  local work=$2/work.$$ sources
  sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  mkdir -p "$work"
  {
    printf '#define LIBRARY "%s"\n#define PREFIX %s\n#define SECTION "%s"\n#define STATUS %s\n' "$(basename "$1")" "$4" "$5" "$6"
    echo '#define FUNCTIONS(F) \'
    "${NM:-nm}" -D --defined-only "$1" | awk '$2 == "T" { sub(/@.*/, "", $3); printf "  F(%d, %s) \\\n", n++, $3 }'
    echo
  } > "$work/functions.h"
  "${CC:-cc}" -std=gnu11 -O1 -Wall -fPIC -I"$work" -c "$sources/forward.c" -o "$work/forward.o"
  "${AR:-ar}" rcs "$work/$3" "$work/forward.o"
  mv "$work/$3" "$2/"
  rm -r "$work"
}

# forwards: whether this machine is one that forward.c has code for; on others programs are linked with the shared library.
forwards() {
  [ "$("${CC:-cc}" -dumpmachine | cut -d- -f1)" = x86_64 ]
}
