# Compiles wrong_functors.cpp with COMPILER: every functor in it must be refused, by the sentence that fits it and nothing
# else.
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${SOURCE_FOLDER}/include
                        ${SOURCE_FOLDER}/tests/kernels/wrong_functors/wrong_functors.cpp
                ERROR_VARIABLE errors RESULT_VARIABLE result)
if(result EQUAL 0)
  message(FATAL_ERROR "functors with a wrong signature compile")
endif()

set(expected 0)
function(expect_sentence count sentence)
  string(REGEX MATCHALL "error: static[ _]assertion failed[^\n]*${sentence}" found "${errors}")
  list(LENGTH found number)
  if(NOT number EQUAL count)
    message(FATAL_ERROR "${number} functors instead of ${count} are refused because ${sentence}\n${errors}")
  endif()
  math(EXPR sum "${expected} + ${count}")
  set(expected ${sum} PARENT_SCOPE)
endfunction()
expect_sentence(2 "the message needs T operator\\(\\)\\(T source, T destination, T edge\\) const")
expect_sentence(1 "the message must return the type of its values")
expect_sentence(2 "gradient of the message must be const, take what operator\\(\\) takes")
expect_sentence(1 "the reduction needs T identity<T>\\(\\)")
expect_sentence(2 "a reduction with a last step needs both bool has_finish\\(\\) const")
expect_sentence(1 "derivative of the reduction must be T derivative")

string(REGEX MATCHALL "error:" all "${errors}")
list(LENGTH all number)
if(NOT number EQUAL expected)
  message(FATAL_ERROR "${number} errors instead of ${expected}:\n${errors}")
endif()
