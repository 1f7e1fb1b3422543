#include "nn/decoding/row_tables.h"

#include <gtest/gtest.h>

#include <set>

#include "bough/core/random.h"

namespace bough::nn {
namespace {

std::vector<std::int32_t> rows_of(const RowTables& tables, const RowTable& table) {
  std::vector<std::int32_t> rows;
  for (std::int64_t i = 0; i < table.size; ++i) rows.push_back(tables.row(table, i));
  return rows;
}

TEST(RowTables, TablesForkedAndEndedAtRandomKeepTheirRowsAndNoOthers) {
  RowTables tables;
  std::vector<RowTable> made;
  std::vector<std::vector<std::int32_t>> expected;
  const RandomStream random{3, 0};
  std::int64_t most = 0;
  for (std::uint64_t step = 0; step < 4000; ++step) {
    const std::uint32_t choice = random(2 * step) % 16, which = random(2 * step + 1);
    if (made.empty() || (choice == 0 && made.size() < 12)) {
      made.emplace_back();
      expected.emplace_back();
    } else if (choice == 1 && made.size() < 12) {
      const std::size_t from = which % made.size();
      RowTable fork = tables.fork(made[from]);
      std::vector<std::int32_t> same = expected[from];
      made.push_back(std::move(fork));
      expected.push_back(std::move(same));
    } else if (choice == 2) {
      const auto at = static_cast<std::ptrdiff_t>(which % made.size());
      tables.release(made[static_cast<std::size_t>(at)]);
      made.erase(made.begin() + at);
      expected.erase(expected.begin() + at);
    } else {
      const std::size_t at = which % made.size();
      expected[at].push_back(tables.append(made[at]));
    }
    std::set<std::int32_t> used;
    for (std::size_t i = 0; i < made.size(); ++i) {
      ASSERT_EQ(rows_of(tables, made[i]), expected[i]) << "step " << step;
      ASSERT_EQ(std::set(expected[i].begin(), expected[i].end()).size(), expected[i].size());
      used.insert(expected[i].begin(), expected[i].end());
    }
    ASSERT_EQ(tables.rows_in_use(), std::ssize(used)) << "a row is kept as long as some table has it";
    most = std::max(most, tables.rows_in_use());
    ASSERT_EQ(tables.end(), most) << "freed rows are used before new ones";
  }
  EXPECT_GT(most, 500);
}

}  // namespace
}  // namespace bough::nn
