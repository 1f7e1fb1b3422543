extern "C" int unrelated_function() { return 0; }
