# Looks into LIBRARY with CUOBJDUMP: the kernels are there, for every architecture, and none keeps anything in memory
# that belongs into registers.
execute_process(COMMAND ${CUOBJDUMP} --dump-resource-usage ${LIBRARY} OUTPUT_VARIABLE usage ERROR_VARIABLE errors
                RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${CUOBJDUMP} failed: ${errors}")
endif()

string(REGEX MATCHALL "Function [^\n]*run_body[^\n]*\n[^\n]*" kernels "${usage}")
foreach(body AttendRows AttendBackwardToDestinations AttendBackwardToSources AttendBackwardAtomically AttendTiles
        AttendTilesBackward AddParts ReduceMessages MapMessages LayerNorm CrossEntropy Dropout SumPartitions ReduceColumns AxisSoftmax
        AdamUpdate SgdUpdate)
  if(NOT kernels MATCHES "[0-9]${body}I(NS[0-9]*_9TileShapeI)?[fd]")
    message(FATAL_ERROR "there is no kernel ${body}")
  endif()
endforeach()
foreach(body AttendRows AttendBackwardToDestinations AttendBackwardToSources AttendBackwardAtomically AttendTiles
        AttendTilesBackward)
  if(NOT kernels MATCHES "[0-9]${body}I(NS[0-9]*_9TileShapeI)?NS[0-9]*_8bfloat16E")
    message(FATAL_ERROR "there is no kernel ${body} of bfloat16")
  endif()
endforeach()
if(NOT kernels MATCHES "[0-9]AttendTilesOnTensorCoresI")
  message(FATAL_ERROR "there is no kernel AttendTilesOnTensorCores")
endif()
foreach(kernel IN LISTS kernels)
  if(NOT kernel MATCHES "STACK:0 " OR NOT kernel MATCHES "LOCAL:0 ")
    message(FATAL_ERROR "a kernel uses local memory: ${kernel}")
  endif()
endforeach()
list(LENGTH kernels count)
message(STATUS "${count} kernels, none with local memory")
