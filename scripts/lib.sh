# SPDX-License-Identifier: Apache-2.0
# What the scripts share; sourced by bash, after `root` is set to the repository.

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# need_packages INSTALL PACKAGE...: sees to it that the Debian packages are there (NAME, or NAME:ARCHITECTURE). INSTALL=no only
# says what is missing.
need_packages() {
  local install=$1 package missing=()
  shift
  if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian system: taking it for granted that the like of these is installed: $*"
    return
  fi
  for package in "$@"; do
    # A package may be installed for several architectures: one of them will do.
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo)
    if [ "$install" = yes ] && ! command -v sudo >/dev/null; then install=no; fi
  fi
  [ "$install" = yes ] || fail "missing packages; install them with: apt-get install ${missing[*]}"
  say "Installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600)
  for package in "${missing[@]}"; do
    case $package in *:*) "${as_root[@]}" dpkg --add-architecture "${package#*:}" ;; esac
  done
  # The package lists may be absent, or too old to name files that still exist.
  "${apt[@]}" update || echo "could not renew the package lists; trying with those that are here"
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" || fail "could not install: ${missing[*]}"
}

# Compile jobs: one a processor, but no more than memory allows.
default_jobs() {
  local cpus kilobytes
  cpus=$(nproc)
  kilobytes=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  local fit=$((${kilobytes:-4000000} / 1500000))
  [ "$fit" -ge 1 ] || fit=1
  echo $((cpus < fit ? cpus : fit))
}

# is_number TEXT: a whole number from 1 on.
is_number() { [[ $1 =~ ^[1-9][0-9]*$ ]]; }
