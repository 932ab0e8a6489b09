# Words for people, shared by all that speaks to them.
greeting() {
    echo "Hello from $1"
}
