// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "graph.hpp"

namespace pagerank {

/// Reads a text file with one edge a line, `SOURCE DESTINATION`: names of any characters but blanks, where numbers are
/// names too ("7" and "07" are two vertices). `#` at the start of a line or after a blank opens a comment; empty lines
/// and CRLF are fine. Throws InputError, which names the file and the line.
Graph read_edge_list(const std::string& path);

}  // namespace pagerank
