#!/usr/bin/env bash
# Copies shared libraries beside the programs that need them, into lib/mysql/private, and
# writes the way there into the programs.
#
#   libraries.sh some USR   those that Debian 12 and 13 have under different names
#   libraries.sh all USR    all but the C and C++ runtime's
set -euo pipefail
what=$1 root=$(realpath -- "$2")
private=$root/lib/mysql/private
case $what in
  some) wanted='^lib(icu[a-z0-9]*\.so\.|aio\.so\.|ldap-|lber-)' ;;
  all) wanted='' ;;
  *) echo "usage: libraries.sh some|all USR" >&2; exit 2 ;;
esac
runtime='^(linux-vdso|ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s|nss_.*|mvec))\.so'

is_elf() { [ "$(head -c 4 -- "$1" | od -An -tx1)" = ' 7f 45 4c 46' ]; }
needed() { readelf -d -- "$1" 2>/dev/null | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'; }
is_wanted() {
  [[ ! $1 =~ $runtime && ( -z $wanted || $1 =~ $wanted ) ]] && [[ $1 != libmysqlclient.so.* ]]
}

# visit FILE: the libraries it needs, and those that they need; then the way to them.
declare -A seen
visit() {
  local file=$1 name from way uses=''
  while read -r name; do
    is_wanted "$name" || continue
    uses=yes
    [ -z "${seen[$name]:-}" ] || continue
    seen[$name]=yes
    from=$(ldd "$file" | awk -v name="$name" '$1 == name { print $3 }')
    [ -f "$from" ] || { echo "libraries: error: $file needs $name, which is not here" >&2; exit 1; }
    # It may have been brought here before.
    if ! [ "$from" -ef "$private/$name" ]; then
      mkdir -p -- "$private"
      install -m 644 -- "$from" "$private/$name"
      license "$from"
    fi
    visit "$private/$name"
  done < <(needed "$file")
  way=\$ORIGIN/$(realpath --relative-to="$(dirname "$file")" "$private")
  # mysqld has it from the linker, and must not be touched once it is laid out.
  [ -z "$uses" ] || [ "$(patchelf --print-rpath "$file")" = "$way" ] || patchelf --set-rpath "$way" "$file"
}

license() {
  local package
  package=$(dpkg-query --search "$(realpath -- "$1")" 2>/dev/null || dpkg-query --search "/usr$(realpath -- "$1")" 2>/dev/null) || return 0
  package=${package%%:*}
  install -D -m 644 -- "/usr/share/doc/$package/copyright" "$root/share/doc/sluice-server/copyright.$package"
}

while IFS= read -r -d '' file; do
  [[ $file != "$private"/* ]] || continue
  ! is_elf "$file" || visit "$file"
done < <(find "$root/bin" "$root/sbin" "$root/lib" -type f \( -perm /111 -o -name '*.so*' \) -print0 2>/dev/null | sort -z)
