. "$(dirname "$0")/words.sh"
test "$(greeting somebody)" = "Hello from somebody" || { echo "greeting says: $(greeting somebody)"; exit 1; }
echo "words: 1 test passed"
