#!/bin/sh
# A linker that has the CUDA runtime of Simtlab before any other; compilers find it by COMPILER_PATH.
# It runs the linker of its own name (ld, ld.gold, ld.lld, ...) that comes next in COMPILER_PATH and PATH.
# Links that name neither a CUDA runtime nor NVIDIA's PTX compiler are passed on as they are. For others the folder of
# Simtlab's libraries is searched first, and a static library of these that is named by its path is replaced. Of both versions the one is
# taken that lies in a folder of the link line, else SIMTLAB_LINK_VERSION, else the newest.
tools=$(cd "$(dirname "$0")" && pwd)
links=$(dirname "$tools")

find_next() (
  IFS=:
  for folder in $COMPILER_PATH $PATH; do
    [ -n "$folder" ] && [ -x "$folder/$1" ] && ! [ "$folder/$1" -ef "$0" ] && echo "$folder/$1" && return
  done
  echo "$1: no linker of this name in COMPILER_PATH and PATH but Simtlab's" >&2
  return 1
)
next=$(find_next "$(basename "$0")") || exit 1

# The arguments with those in response files, one a line.
words() {
  for word; do
    case $word in
      @*) if [ -f "${word#@}" ]; then tr -s ' \t"' '\n\n\n' < "${word#@}"; else printf '%s\n' "$word"; fi ;;
      *) printf '%s\n' "$word" ;;
    esac
  done
}
all=$(words "$@")
case $all in
  *cudart* | *nvptxcompiler*) ;;
  *) exec "$next" "$@" ;;
esac

version_in() (
  expect=
  printf '%s\n' "$all" | while IFS= read -r word; do
    folder=
    case $word in
      -L) expect=yes; continue ;;
      -L*) folder=${word#-L} ;;
      */libcudart* | */libnvptxcompiler*) folder=${word%/*} ;;
      *) [ -n "$expect" ] && folder=$word ;;
    esac
    expect=
    for version in 13 12; do
      [ -n "$folder" ] && set -- "$folder/libcudart.so.$version"* && [ -e "$1" ] && echo "$version" && return
    done
  done
)
version=$(version_in | head -n 1)
[ -d "$links/$version" ] && [ -n "$version" ] || version=${SIMTLAB_LINK_VERSION:-13}
ours=$links/$version

for word; do
  shift
  case $word in
    */libcudart_static.a | */libnvptxcompiler_static.a) [ -e "$ours/${word##*/}" ] && word=$ours/${word##*/} ;;
    @*)
      if [ -f "${word#@}" ] && grep -Eq '/lib(cudart|nvptxcompiler)_static\.a' "${word#@}"; then
        # The file is the caller's; its copy goes when the linker has ended.
        copy=${copy:-$(mktemp -d)}
        file=$copy/$#
        cp "${word#@}" "$file"
        for library in libcudart_static.a libnvptxcompiler_static.a; do
          [ ! -e "$ours/$library" ] || sed -i "s|[^[:space:]\"]*/$library|$ours/$library|g" "$file"
        done
        word=@$file
      fi ;;
  esac
  set -- "$@" "$word"
done
if [ -n "$copy" ]; then
  "$next" "-L$ours" "$@"
  status=$?
  rm -r "$copy"
  exit $status
fi
exec "$next" "-L$ours" "$@"
