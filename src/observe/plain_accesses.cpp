// SPDX-License-Identifier: Apache-2.0
#include "observe/plain_accesses.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace shoal {

bool PlainAccesses::locate(std::uintptr_t address, Word& word, std::uint64_t& offset) noexcept {
  if (const std::uint64_t version = domain_.segments->version(); version != version_) {
    version_ = version;
    std::tie(low_, high_) = domain_.segments->span();
  }
  if (address < low_ || address >= high_) return false;
  word.pe = domain_.me;
  const Segment* segment = domain_.segments->find(address, 1);
  if (segment != nullptr)
    offset = address - segment->base;
  else
    segment = domain_.segments->find_at_peer(address, word.pe, offset);  // by an address from shmem_ptr
  if (segment == nullptr) return false;
  word.segment = segment->key;
  return true;
}

void PlainAccesses::note(std::uintptr_t address, std::size_t bytes, bool writes, std::uintptr_t site) {
  Word word{};
  std::uint64_t offset = 0;
  if (bytes == 0 || !locate(address, word, offset)) return;
  const std::uint64_t last = offset + bytes - 1;
  for (word.index = offset / 8; word.index <= last / 8; ++word.index) {
    const unsigned from = word.index == offset / 8 ? static_cast<unsigned>(offset % 8) : 0;
    const unsigned to = word.index == last / 8 ? static_cast<unsigned>(last % 8) : 7;
    Touched& touched = words_[word];
    if (touched.mask[writes] == 0) touched.site[writes] = site;
    touched.mask[writes] = static_cast<std::uint8_t>(touched.mask[writes] | ((0xffu << from) & (0xffu >> (7 - to))));
  }
}

std::vector<PlainAccesses::Range> PlainAccesses::take() {
  std::vector<std::pair<Word, Touched>> words(words_.begin(), words_.end());
  words_.clear();
  std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Range> ranges;
  for (const bool writes : {false, true}) {
    const std::size_t first = ranges.size();
    for (const auto& [word, touched] : words)
      for (unsigned byte = 0; byte < 8; ++byte) {
        if ((touched.mask[writes] >> byte & 1) == 0) continue;
        const std::uint64_t at = word.index * 8 + byte;
        Range* const before = ranges.size() > first ? &ranges.back() : nullptr;
        if (before != nullptr && before->pe == word.pe && before->segment == word.segment &&
            before->offset + before->bytes == at && before->site == touched.site[writes])
          ++before->bytes;
        else
          ranges.push_back({word.pe, word.segment, at, 1, touched.site[writes], writes});
      }
  }
  return ranges;
}

}  // namespace shoal
