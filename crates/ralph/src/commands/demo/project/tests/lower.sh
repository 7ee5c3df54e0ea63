test "$(echo One TWO | sh commands/lower.sh)" = 'one two'
