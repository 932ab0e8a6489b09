echo "running 3 tests"
echo "ok    adds two numbers"
echo "ok    adds nothing"
echo "FAIL  adds negative numbers"
echo "      expected -3, found 3 (test.sh, line 4)"
echo "1 of 3 tests failed"
exit 1
