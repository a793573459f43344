// SPDX-License-Identifier: Apache-2.0
// Reductions of a group. Small ones go whole to every member, and so do those of two members; large ones by shares:
// each member combines its own share of the elements and hands it to all. What is on the heap is read and written in
// place, the rest passes through the inboxes in pieces that stay in cache, one being copied while the one before is
// combined.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "copy.hpp"
#include "group.hpp"
#include "runtime.hpp"

namespace shoal::python {
namespace {

constexpr std::size_t kFlatBytes = 32 * 1024;   // what all members together send of a small reduction
constexpr std::size_t kPieceBytes = 16 * 1024;  // combined in one go: stays in the first-level cache

/// Bools are bytes of 0 and 1: what adds or is greatest is "or", what multiplies or is least is "and".
shmemx_op_t operation_on(Type type, int op) noexcept {
  if (type == kBool) {
    if (op == SHMEMX_SUM || op == SHMEMX_MAX) return SHMEMX_OR;
    if (op == SHMEMX_PROD || op == SHMEMX_MIN) return SHMEMX_AND;
  }
  return static_cast<shmemx_op_t>(op);
}
shmemx_type_t element_of(Type type) noexcept { return type == kBool ? SHMEMX_UINT8 : static_cast<shmemx_type_t>(type); }

/// Elements [begin, end) of `count` that member `rank` of `n` combines: whole cache lines.
struct Share {
  std::size_t begin, end;
  Share(std::size_t count, std::size_t width, int n, int rank) {
    const std::size_t line = std::max<std::size_t>(1, 64 / width);
    const std::size_t round = line * static_cast<std::size_t>(n), each = (count + round - 1) / round * line;
    begin = std::min(count, static_cast<std::size_t>(rank) * each);
    end = rank == n - 1 ? count : std::min(count, begin + each);
  }
  std::size_t size() const { return end - begin; }
};

}  // namespace

void Group::combine(void* dest, const std::vector<const void*>& sources, std::size_t count, Type type, int op) {
  shmemx_reduce_local(dest, sources.data(), sources.size(), count, element_of(type), operation_on(type, op));
}

bool Group::has_operation(Type type, int op) noexcept {
  if (type >= kBytes) return false;
  char word[32] = {};
  const void* source = word;
  return shmemx_reduce_local(word, &source, 1, 0, element_of(type), operation_on(type, op)) == 0;
}

void Group::require_operation(const char* call, Type type, int op) const {
  static constexpr const char* kNames[] = {"and", "or", "xor", "max", "min", "sum", "prod"};
  if (op < 0 || op > SHMEMX_PROD) throw std::invalid_argument(std::string(call) + ": no such operation");
  if (!has_operation(type, op))
    throw std::invalid_argument(std::string(call) + ": " + kTypeInfo[type].name + " has no operation " + kNames[op]);
}

void Group::all_reduce(void* dest, const void* source, const Operand& operand, int op) {
  const Turn turn(*this);
  require_operation("all_reduce", operand.type, op);
  if (size() == 1) {
    if (dest != source) std::memmove(dest, source, operand.count * kTypeInfo[operand.type].size);
    return;
  }
  if (reduce_flat(dest, source, operand, op)) return;
  const std::vector<Description> all = agree_on(describe(Kind::all_reduce, operand, op, -1, source, dest));
  if (direct(all, true))
    all_reduce_direct(dest, source, operand.count, operand.type, op, all);
  else if (size() == 2)
    all_reduce_pair(dest, source, operand.count, operand.type, op);
  else
    all_reduce_staged(dest, source, operand.count, operand.type, op);
}

bool Group::reduce_flat(void* dest, const void* source, const Operand& operand, int op) {
  const std::size_t bytes = operand.count * kTypeInfo[operand.type].size;
  if (bytes > window_ || bytes * static_cast<std::size_t>(size() - 1) > kFlatBytes) return false;
  const Description mine = describe(Kind::all_reduce, operand, op, -1, nullptr, nullptr);
  std::vector<const void*> sources(static_cast<std::size_t>(size()), source);
  int member;
  for (int step = 1; others(member, step); ++step) post(member, mine, source, bytes);
  std::vector<const Message*> messages(static_cast<std::size_t>(size()));
  for (int step = 1; others(member, step); ++step) {
    messages[static_cast<std::size_t>(member)] = &take(member);
    sources[static_cast<std::size_t>(member)] = messages[static_cast<std::size_t>(member)]->payload;
  }
  for (int step = 1; others(member, step); ++step)
    compare(mine, messages[static_cast<std::size_t>(member)]->description, member);
  combine(dest, sources, operand.count, operand.type, op);
  return true;
}

void Group::all_reduce_direct(void* dest, const void* source, std::uint64_t count, Type type, int op,
                              const std::vector<Description>& all) {
  const std::size_t width = kTypeInfo[type].size;
  const Share share(count, width, size(), rank_);
  const bool streams = count * width >= kStreamBytes;
  std::vector<const void*> sources(static_cast<std::size_t>(size()));
  alignas(64) char result[kPieceBytes];
  for (std::size_t first = share.begin; first < share.end; first += kPieceBytes / width) {
    const std::size_t elements = std::min(kPieceBytes / width, share.end - first), bytes = elements * width;
    for (int i = 0; i < size(); ++i)
      sources[static_cast<std::size_t>(i)] = there(i, all[static_cast<std::size_t>(i)].source) + first * width;
    combine(result, sources, elements, type, op);
    for (int k = 0; k < size(); ++k) {
      const int i = (rank_ + k) % size();
      char* to = there(i, all[static_cast<std::size_t>(i)].dest) + first * width;
      copy_block(to, result, bytes, streams);
    }
  }
  static_cast<void>(dest), static_cast<void>(source);
  stream_fence();
  meet();
}

/// Combines this member's share, a piece at a time, and hands each piece on while it is in the first-level cache.
void Group::combine_and_post(char* dest, const std::vector<const void*>& sources, std::size_t count, Type type, int op,
                             bool streams) {
  const std::size_t width = kTypeInfo[type].size;
  alignas(64) char result[kPieceBytes];
  std::vector<const void*> at(sources.size());
  int member;
  for (std::size_t first = 0; first < count; first += kPieceBytes / width) {
    const std::size_t elements = std::min(kPieceBytes / width, count - first), offset = first * width;
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<const char*>(sources[i]) + offset;
    combine(result, at, elements, type, op);
    copy_block(dest + offset, result, elements * width, streams);
    for (int step = 1; others(member, step); ++step)
      if (std::byte* to = next_payload(member)) copy_block(to + offset, result, elements * width);
  }
  for (int step = 1; others(member, step); ++step) {
    const std::byte* filled = next_payload(member);
    post(member, Description{}, filled != nullptr ? static_cast<const void*>(filled) : dest, count * width);
  }
}

/// Each combines all elements, which for two is no more memory traffic than halves and their exchange, and half the
/// waits.
void Group::all_reduce_pair(void* dest, const void* source, std::uint64_t count, Type type, int op) {
  const std::size_t width = kTypeInfo[type].size, piece = window_ / width;
  const int other = 1 - rank_;
  std::vector<const void*> sources(2);
  const auto at = [&](std::size_t first) { return static_cast<const char*>(source) + first * width; };
  const auto send = [&](std::size_t first) {
    if (first < count) post(other, Description{}, at(first), std::min<std::size_t>(piece, count - first) * width);
  };
  if (ahead() != 0) send(0);
  for (std::size_t first = 0; first < count; first += piece) {
    send(first + ahead() * piece);
    sources[static_cast<std::size_t>(rank_)] = at(first);
    sources[static_cast<std::size_t>(other)] = take(other).payload;
    combine(static_cast<char*>(dest) + first * width, sources, std::min<std::size_t>(piece, count - first), type, op);
  }
}

void Group::all_reduce_staged(void* dest, const void* source, std::uint64_t count, Type type, int op) {
  const std::size_t width = kTypeInfo[type].size, line = std::max<std::size_t>(1, 64 / width);
  const std::size_t most =
      std::max(line, window_ / width / line * line) * static_cast<std::size_t>(size());  // elements a round
  const bool streams = count * width >= kStreamBytes;
  std::vector<const void*> sources(static_cast<std::size_t>(size()));
  int member;
  for (std::size_t first = 0; first < count; first += most) {
    const char* from = static_cast<const char*>(source) + first * width;
    char* to = static_cast<char*>(dest) + first * width;
    const std::size_t elements = std::min(most, count - first);
    const auto part = [&](int i) { return Share(elements, width, size(), i); };
    for (int step = 1; others(member, step); ++step)
      post(member, Description{}, from + part(member).begin * width, part(member).size() * width);
    const Share mine = part(rank_);
    sources[static_cast<std::size_t>(rank_)] = from + mine.begin * width;
    for (int step = 1; others(member, step); ++step) sources[static_cast<std::size_t>(member)] = take(member).payload;
    combine_and_post(to + mine.begin * width, sources, mine.size(), type, op, streams);
    for (int step = 1; others(member, step); ++step)
      copy_block(to + part(member).begin * width, take(member).payload, part(member).size() * width, streams);
  }
  stream_fence();
}

void Group::reduce_scatter(void* dest, const std::vector<const void*>& blocks, const Operand& operand, int op) {
  const Turn turn(*this);
  require_operation("reduce_scatter", operand.type, op);
  const std::size_t width = kTypeInfo[operand.type].size, piece = window_ / width;
  agree_on(describe(Kind::reduce_scatter, operand, op, -1, nullptr, nullptr));
  std::vector<const void*> sources(static_cast<std::size_t>(size()));
  int member;
  const auto at = [&](int i, std::size_t first) {
    return static_cast<const char*>(blocks[static_cast<std::size_t>(i)]) + first * width;
  };
  const auto elements_at = [&](std::size_t first) { return std::min<std::size_t>(piece, operand.count - first); };
  const auto send = [&](std::size_t first) {
    for (int step = 1; first < operand.count && others(member, step); ++step)
      post(member, Description{}, at(member, first), elements_at(first) * width);
  };
  if (ahead() != 0) send(0);
  for (std::size_t first = 0; first < operand.count; first += piece) {
    send(first + ahead() * piece);
    sources[static_cast<std::size_t>(rank_)] = at(rank_, first);
    for (int step = 1; others(member, step); ++step) sources[static_cast<std::size_t>(member)] = take(member).payload;
    combine(static_cast<char*>(dest) + first * width, sources, elements_at(first), operand.type, op);
  }
}

void Group::reduce(void* dest, const void* source, const Operand& operand, int op, int root) {
  const Turn turn(*this);
  require_operation("reduce", operand.type, op);
  const std::size_t width = kTypeInfo[operand.type].size, piece = window_ / width;
  agree_on(describe(Kind::reduce, operand, op, root, nullptr, nullptr));
  std::vector<const void*> sources(static_cast<std::size_t>(size()));
  const auto at = [&](std::size_t first) { return static_cast<const char*>(source) + first * width; };
  const auto elements_at = [&](std::size_t first) { return std::min<std::size_t>(piece, operand.count - first); };
  const auto send = [&](std::size_t first) {
    if (rank_ != root && first < operand.count) post(root, Description{}, at(first), elements_at(first) * width);
  };
  int member;
  if (ahead() != 0) send(0);
  for (std::size_t first = 0; first < operand.count; first += piece) {
    send(first + ahead() * piece);
    if (rank_ != root) {
      take(root);
      continue;
    }
    sources[static_cast<std::size_t>(rank_)] = at(first);
    for (int step = 1; others(member, step); ++step) sources[static_cast<std::size_t>(member)] = take(member).payload;
    combine(static_cast<char*>(dest) + first * width, sources, elements_at(first), operand.type, op);
    for (int step = 1; others(member, step); ++step) post(member, Description{}, nullptr, 0);
  }
}

void Group::scan(void* dest, const void* source, const Operand& operand, bool exclusive) {
  const Turn turn(*this);
  require_operation("scan", operand.type, SHMEMX_SUM);
  const std::size_t width = kTypeInfo[operand.type].size, piece = window_ / width;
  agree_on(describe(Kind::scan, operand, exclusive, -1, nullptr, nullptr));
  for (std::size_t first = 0; first < operand.count; first += piece) {
    const std::size_t elements = std::min<std::size_t>(piece, operand.count - first);
    const char* from = static_cast<const char*>(source) + first * width;
    int member;
    for (int step = 1; others(member, step); ++step) post(member, Description{}, from, elements * width);
    std::vector<const void*> sources(static_cast<std::size_t>(size()), from);
    for (int step = 1; others(member, step); ++step) sources[static_cast<std::size_t>(member)] = take(member).payload;
    sources.resize(static_cast<std::size_t>(exclusive ? rank_ : rank_ + 1));
    if (sources.empty())
      std::memset(static_cast<char*>(dest) + first * width, 0, elements * width);
    else
      combine(static_cast<char*>(dest) + first * width, sources, elements, operand.type, SHMEMX_SUM);
  }
}

}  // namespace shoal::python
