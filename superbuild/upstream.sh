#!/usr/bin/env bash
# Gets upstream's tarball, checks it and unpacks it.
#
#   upstream.sh fetch          make sure the tarball is at hand; prints its path
#   upstream.sh unpack DIR     have the pristine tree in DIR (and DIR.stamp beside)
#   upstream.sh offers         what the Debian archive has of the series: version, sum, bytes
#
# The pin is upstream/pin. Environment:
#   UPSTREAM_TARBALL  a tarball of your own, taken before any other place
#   UPSTREAM_SHA256   its checksum, when it is not the pinned one (a repack)
#   UPSTREAM_PIN      another pin file (for trying a newer upstream)
#   XDG_CACHE_HOME    where downloads are kept is $XDG_CACHE_HOME/sluice
#
# stdout carries the answer, stderr what a person reads.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
given_sum=${UPSTREAM_SHA256:-}
# shellcheck source=upstream/pin
source "${UPSTREAM_PIN:-$here/upstream/pin}"
pinned_sum=$UPSTREAM_SHA256
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sluice
# Seconds after which a download that brings nothing has stalled.
stalled=${UPSTREAM_STALLED:-60}

say() { printf '%s\n' "$*" >&2; }
die() {
  say "upstream: error: $*"
  exit 1
}
# room FOLDER MEGABYTES WHAT: is there space for it?
room() {
  local free
  free=$(df --output=avail -BM -- "$1" | tail -n 1 | tr -dc 0-9)
  [ "$free" -ge "$2" ] || die "$1 has $free MB free, and $3 takes $2 MB"
}
sum_of() { sha256sum -- "$1" | cut -d' ' -f1; }

# check FILE SUM: true when FILE has that checksum; otherwise names both.
check() {
  local got
  got=$(sum_of "$1")
  [ "$got" = "$2" ] && return 0
  say "upstream: wrong checksum of $1"
  say "  expected sha256 $2"
  say "  found    sha256 $got"
  return 1
}

from_user() {
  local want=${given_sum:-$pinned_sum}
  [ -f "$UPSTREAM_TARBALL" ] || die "UPSTREAM_TARBALL=$UPSTREAM_TARBALL: no such file (a relative path is taken from $PWD)"
  check "$UPSTREAM_TARBALL" "$want" ||
    die "UPSTREAM_TARBALL is not the file it should be; give the right one, or its checksum as UPSTREAM_SHA256, or unset it"
  realpath "$UPSTREAM_TARBALL"
}

from_cache() {
  local file=$cache/$UPSTREAM_FILE
  [ -f "$file" ] || return 1
  if check "$file" "$pinned_sum"; then
    echo "$file"
  else
    say "  it is removed from the download cache and fetched again"
    rm -f -- "$file"
    return 1
  fi
}

from_download_site() {
  local url part=$cache/$UPSTREAM_FILE.part
  for url in $UPSTREAM_URLS; do
    say "upstream: trying $url"
    # One that stalls, below 1 kB/s for a minute, is given up: others wait for the lock.
    if curl --fail --location --connect-timeout 10 --speed-limit 1000 --speed-time "$stalled" \
      --retry 2 --continue-at - --progress-bar --output "$part" "$url" >&2; then
      if check "$part" "$pinned_sum"; then
        mv -- "$part" "$cache/$UPSTREAM_FILE"
        echo "$cache/$UPSTREAM_FILE"
        return 0
      fi
      say "  the download is removed; nothing else is touched"
      rm -f -- "$part"
    fi
  done
  return 1
}

# The archive's address is that of this machine's own apt configuration; only
# suite and type are ours, in lists that live in a folder of their own.
# debian_offers: one line a version on offer, in `offers`: version, checksum of its
# .orig.tar.gz, its name and size. apt's options for the archive are left in `opts`.
debian_offers() {
  command -v apt-get >/dev/null || {
    say "upstream: no apt-get here: the Debian archive is left out"
    return 1
  }
  local archive apt_dir keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed=''
  archive=$("$here/superbuild/debian/archive.sh") || return 1
  say "upstream: trying the Debian archive, source package $DEBIAN_SOURCE of $DEBIAN_SUITE"
  apt_dir=$cache/apt
  mkdir -p "$apt_dir/lists/partial" "$apt_dir/archives/partial"
  [ -r "$keyring" ] && signed="[signed-by=$keyring]"
  echo "deb-src $signed $archive $DEBIAN_SUITE main" >"$apt_dir/sources.list"
  opts=(-o "Acquire::http::Timeout=$stalled" -o "Acquire::https::Timeout=$stalled"
    -o "Dir::Etc::sourcelist=$apt_dir/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$apt_dir/lists" -o "Dir::Cache=$apt_dir"
    -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User="$(id -un)")
  apt-get "${opts[@]}" -q update >&2 || return 1

  offers=$(apt-cache "${opts[@]}" showsrc --only-source "$DEBIAN_SOURCE" | awk '
    /^Version:/ { version = $2 }
    /^Checksums-Sha256:/ { sums = 1; next }
    /^[^ ]/ { sums = 0 }
    sums && $3 ~ /\.orig\.tar\.gz$/ { print version, $1, $3, $2 }')
}

# The pinned one first, then the newest; one that is listed but not to be had
# (an archive that has not caught up with its index) is passed over.
from_debian() {
  local opts offers version sum file
  debian_offers || return 1
  offers=$(grep -F " $pinned_sum " <<<"$offers" | tail -n 1
    grep -vF " $pinned_sum " <<<"$offers" | sort -rV)
  while read -r version sum file _; do
    [[ ${version%-*} =~ $DEBIAN_ACCEPT ]] || continue
    [ "$(printf '%s\n' "$UPSTREAM_VERSION" "${version%-*}" | sort -V | head -n 1)" = "$UPSTREAM_VERSION" ] || continue
    if [ "$sum" != "$pinned_sum" ]; then
      say "upstream: WARNING: the pinned $UPSTREAM_VERSION is not to be had from the Debian archive."
      say "  Trying ${version%-*} in its place, checksum $sum,"
      say "  vouched for by the archive's signed index, not by upstream/pin. Patches may not apply."
    fi
    say "upstream: downloading $file"
    (cd "$cache" && apt-get "${opts[@]}" source --only-source --download-only --tar-only \
      "$DEBIAN_SOURCE=$version") >&2 || continue
    check "$cache/$file" "$sum" || {
      rm -f -- "$cache/$file"
      continue
    }
    if [ "$sum" = "$pinned_sum" ]; then
      mv -- "$cache/$file" "$cache/$UPSTREAM_FILE"
      file=$UPSTREAM_FILE
    fi
    echo "$cache/$file"
    return 0
  done <<<"$offers"
  say "upstream: $DEBIAN_SUITE offers no $DEBIAN_SOURCE that may stand in for $UPSTREAM_VERSION"
  return 1
}

fetch() {
  if [ -n "${UPSTREAM_TARBALL:-}" ]; then
    from_user
    return
  fi
  mkdir -p "$cache" || die "downloads are kept in $cache, which cannot be made; XDG_CACHE_HOME names another place"
  exec 9>"$cache/lock"
  flock --nonblock 9 || {
    say "upstream: waiting for another download, whose process has $cache/lock open"
    flock 9
  }
  from_cache || {
    room "$cache" "$((UPSTREAM_SIZE / 1000000))" "the download"
    from_download_site || from_debian
  } || die "$UPSTREAM_FILE (MySQL $UPSTREAM_VERSION, sha256 $pinned_sum) was found nowhere.
  Get it by other means and run again with UPSTREAM_TARBALL=/path/to/it"
}

# is_unpacked DIR PIN: is that in DIR? Somebody may have removed it.
is_unpacked() {
  [ -f "$1/MYSQL_VERSION" ] && [ -f "$1.stamp" ] && [ "$(head -n 1 "$1.stamp")" = "$2" ]
}

unpack() {
  local dir=$1 want tarball omit=()
  want="pin $pinned_sum omit $(sum_of "$here/upstream/omit")"
  is_unpacked "$dir" "$want" && return 0

  # Two builds of one checkout may begin at once.
  mkdir -p -- "$(dirname "$dir")"
  exec 8>"$dir.lock"
  flock 8
  is_unpacked "$dir" "$want" && return 0
  [ ! -e "$dir" ] || [ -f "$dir/MYSQL_VERSION" ] || [ -z "$(ls -A -- "$dir")" ] ||
    die "$dir is no unpacked MySQL source, and would be replaced; name another folder"
  tarball=$(fetch)
  say "upstream: unpacking $(basename "$tarball") (1 GB, half a minute)"
  while read -r path; do
    case $path in '' | '#'*) continue ;; esac
    omit+=("--exclude=*/$path")
  done <"$here/upstream/omit"
  rm -rf -- "$dir.partial" "$dir.replaced"
  mkdir -p "$dir.partial"
  room "$dir.partial" 1100 "the unpacked source"
  tar --extract --file "$tarball" --directory "$dir.partial" --strip-components=1 \
    --no-same-owner --anchored --no-wildcards-match-slash "${omit[@]}" || {
    rm -rf -- "$dir.partial" # a disk that is full has no room for a part
    die "$tarball could not be unpacked; $dir is left as it was"
  }
  [ -f "$dir.partial/MYSQL_VERSION" ] || die "$tarball holds no MySQL source tree"
  # A tree that is removed in part, by a command that was interrupted, would be no MySQL source.
  rm -f -- "$dir.stamp"
  if [ -e "$dir" ] || [ -L "$dir" ]; then mv -- "$dir" "$dir.replaced"; fi
  mv -- "$dir.partial" "$dir"
  rm -rf -- "$dir.replaced"
  printf '%s\ntarball %s\n' "$want" "$(sum_of "$tarball")" >"$dir.stamp"
}

offers() {
  local opts offers version sum size
  mkdir -p "$cache"
  debian_offers || die "the Debian archive cannot be asked for newer releases"
  while read -r version sum _ size; do
    [[ ! ${version%-*} =~ $DEBIAN_ACCEPT ]] || echo "${version%-*} $sum $size"
  done <<<"$offers"
}

case ${1:-} in
  fetch) fetch ;;
  offers) offers ;;
  unpack) unpack "${2:?upstream.sh unpack needs a folder}" ;;
  *) die "usage: upstream.sh fetch | unpack DIR | offers" ;;
esac
