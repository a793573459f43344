# SPDX-License-Identifier: Apache-2.0
# Debian: dpkg --add-architecture arm64; apt-get install g++-aarch64-linux-gnu qemu-user libssl-dev:arm64 libstdc++6:arm64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# With the libraries of packages for arm64 alone: with those of the cross compiler, too (-L), loader and libc differ and hang.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
# Where its libraries are, for find_library and for pkg-config, which else names those of this machine.
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
