// SPDX-License-Identifier: Apache-2.0
/// \file
/// The matrix kernel of a core, built on Eigen's: float, double, and float16 and bfloat16 accumulated in float. Programs that include
/// this need Eigen's headers (Debian: libeigen3-dev), and should be compiled for their processor (-march=native).
#pragma once

#include <Eigen/Core>

#include "../device/kernel.hpp"

namespace shoal::ops {

/// A row-major matrix somewhere in memory; rows are `stride` elements apart.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::size_t rows = 0, columns = 0;
  std::size_t stride = 0;

  T* row(std::size_t i) const noexcept { return data + i * stride; }
  /// Rows from `first` on, and columns.
  Matrix block(std::size_t first_row, std::size_t first_column, std::size_t n_rows, std::size_t n_columns) const noexcept {
    return {data + first_row * stride + first_column, n_rows, n_columns, stride};
  }
};
/// A matrix with nothing between its rows.
template <class T>
Matrix<T> matrix(T* data, std::size_t rows, std::size_t columns) noexcept {
  return {data, rows, columns, columns};
}

namespace detail {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
auto view(const Matrix<const T>& m) {
  return Eigen::Map<const Dense<T>, 0, Eigen::OuterStride<>>(m.data, static_cast<Eigen::Index>(m.rows), static_cast<Eigen::Index>(m.columns),
                                                             Eigen::OuterStride<>(static_cast<Eigen::Index>(m.stride)));
}
template <class T>
auto view(const Matrix<T>& m) {
  return Eigen::Map<Dense<T>, 0, Eigen::OuterStride<>>(m.data, static_cast<Eigen::Index>(m.rows), static_cast<Eigen::Index>(m.columns),
                                                       Eigen::OuterStride<>(static_cast<Eigen::Index>(m.stride)));
}

template <class T>
void widen(float* out, const Matrix<const T>& in) noexcept {
  for (std::size_t i = 0; i < in.rows; ++i)
    for (std::size_t j = 0; j < in.columns; ++j) out[i * in.columns + j] = device::Accumulator<T>::widen(in.row(i)[j]);
}

}  // namespace detail

/// c = a * b. The 16-bit types pass through this core's scratch, rounded once at the end; it must have room for a few of c's rows and
/// columns beside c.
template <class T>
void multiply(const device::Core& core, const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b) {
  using Wide = typename device::Accumulator<T>::type;
  if constexpr (std::is_same_v<Wide, T>) {
    detail::view(c).noalias() = detail::view(a) * detail::view(b);
  } else {
    const std::size_t mark = core.scratch_mark();
    const Matrix<float> sum = matrix(core.scratch<float>(c.rows * c.columns), c.rows, c.columns);
    const std::size_t room = core.scratch_left() / sizeof(float);
    const std::size_t depth = std::max<std::size_t>(1, std::min(a.columns, (room > 64 ? room - 64 : 0) / (c.rows + c.columns)));
    float* wide_a = core.scratch<float>(c.rows * depth);
    float* wide_b = core.scratch<float>(depth * c.columns);
    detail::view(sum).setZero();
    for (std::size_t k = 0; k < a.columns; k += depth) {
      const std::size_t n = std::min(depth, a.columns - k);
      detail::widen(wide_a, a.block(0, k, a.rows, n));
      detail::widen(wide_b, b.block(k, 0, n, b.columns));
      detail::view(sum).noalias() += detail::view(Matrix<const float>{wide_a, a.rows, n, n}) *
                                     detail::view(Matrix<const float>{wide_b, n, b.columns, b.columns});
    }
    for (std::size_t i = 0; i < c.rows; ++i)
      for (std::size_t j = 0; j < c.columns; ++j) c.row(i)[j] = device::Accumulator<T>::narrow(sum.row(i)[j]);
    core.release_scratch(mark);
  }
}

}  // namespace shoal::ops
