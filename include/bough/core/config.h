#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bough {

/// What a parameter may be.
enum class ParameterType { integer, number, boolean, string, choice, list, object };

class ParameterTable;

/// One thing that a user may set: from it follow the check of the JSON, the help text and the documentation.
/// Made by the functions below. A parameter is required, or has a default, or is absent (null) when not given.
struct Parameter {
  /// Nothing, or what the parameter is when it is not given. Lists and objects start empty.
  using Default = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

  std::string name;                                                 ///< the key in JSON
  ParameterType type = ParameterType::string;                       ///< what is allowed
  std::string help = {};                                            ///< one line
  bool required = false;                                            ///< has no default and must be given
  Default initial = {};                                             ///< the default
  std::int64_t smallest = 0;                                        ///< of an integer, or the length of a list
  std::int64_t largest = std::numeric_limits<std::int32_t>::max();  ///< of an integer
  double minimum = -std::numeric_limits<double>::infinity();        ///< of a number
  double maximum = std::numeric_limits<double>::infinity();         ///< of a number
  std::vector<std::string> choices = {};                            ///< of a choice
  std::vector<Parameter> items = {};   ///< of a list: what each item must be; none = anything
  std::vector<Parameter> fields = {};  ///< of an object: its parameters; none = any object, checked by its reader
};

/// What an integer_parameter may be; without `initial` it has no default.
struct IntegerLimits {
  std::optional<std::int64_t> initial = {};                         ///< the default
  std::int64_t smallest = 0;                                        ///< allowed
  std::int64_t largest = std::numeric_limits<std::int32_t>::max();  ///< allowed
  bool required = false;                                            ///< must be given
};

/// What a number_parameter may be; without `initial` it has no default.
struct NumberLimits {
  std::optional<double> initial = {};                         ///< the default
  double minimum = -std::numeric_limits<double>::infinity();  ///< allowed
  double maximum = std::numeric_limits<double>::infinity();   ///< allowed
  bool required = false;                                      ///< must be given
};

/// A parameter of a type, with its default and its limits.
Parameter integer_parameter(std::string name, std::string help, IntegerLimits limits = {});
Parameter number_parameter(std::string name, std::string help, NumberLimits limits = {});
Parameter boolean_parameter(std::string name, std::string help, bool initial = false);
/// A parameter that is a text; without `initial` it is required.
Parameter string_parameter(std::string name, std::string help, std::optional<std::string> initial = {});
/// The first choice is the default.
Parameter choice_parameter(std::string name, std::string help, std::vector<std::string> choices);
/// `item` describes each entry (its name and help do not matter). `smallest` > 0 makes the list required.
Parameter list_parameter(std::string name, std::string help, std::optional<Parameter> item = {},
                         std::int64_t smallest = 0);
Parameter object_parameter(std::string name, std::string help, std::vector<Parameter> fields = {},
                           bool required = false);

/// Checked values: what the user gave, with defaults filled in. A cheap handle; asking for a name or a type that is not
/// in the table is a ConfigError, since it is a mistake in the program.
class Settings {
 public:
  /// Values that a ParameterTable has checked.
  Settings(std::string where, nlohmann::json values);

  /// Whose settings they are, as errors name it.
  const std::string& where() const { return where_; }

  bool has(std::string_view name) const;  ///< given or with a default
  /// The value of that name and type. The optional ones are empty if it was not given and has no default.
  std::int64_t integer(std::string_view name) const;
  std::optional<std::int64_t> optional_integer(std::string_view name) const;
  double number(std::string_view name) const;
  std::optional<double> optional_number(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::string string(std::string_view name) const;
  /// A list, an object, or anything else as it is.
  const nlohmann::json& json(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  Settings object(std::string_view name) const;
  /// All of them.
  const nlohmann::json& values() const { return *values_; }

 private:
  const nlohmann::json& find(std::string_view name, std::string_view expected) const;

  std::string where_;
  std::shared_ptr<const nlohmann::json> values_;
};

/// The parameters of one thing that JSON configures.
class ParameterTable {
 public:
  ParameterTable() = default;
  /// ConfigError if two have the same name, or a default is outside its own range.
  ParameterTable(std::vector<Parameter> parameters);
  ParameterTable(std::initializer_list<Parameter> parameters) : ParameterTable(std::vector<Parameter>(parameters)) {}

  /// The parameters, in the order given.
  const std::vector<Parameter>& parameters() const { return parameters_; }

  /// Checks an object. ConfigError naming `where` and
  /// - the nearest known key, if one is unknown;
  /// - key, value and what is allowed, if a type or a range is wrong. Whole numbers may be written 1e3; null means "not
  ///   given" where there is no default.
  Settings read(std::string_view where, const nlohmann::json& values) const;

  /// One line for each parameter: name, what is allowed, default, help.
  std::string help() const;
  /// The same for programs: a list of {"name", "type", "help", "default", ...}.
  nlohmann::json to_json() const;

 private:
  std::vector<Parameter> parameters_;
};

/// "a whole number from 1 to 64", "one of pair, slot".
std::string allowed_values(const Parameter& parameter);

}  // namespace bough
