# What has to hold before a change counts: the tests pass, the list of commands and the version are right.
failed=0
fail() {
    echo "FAIL $1"
    failed=1
}

for test in tests/*.sh; do
    if sh "$test"; then echo "ok   $test"; else fail "$test"; fi
done

[ "$(cat commands.txt)" = "$(sh tools/list.sh)" ] || fail "commands.txt: its checksum is wrong"

case "$(cat README.md)" in
    *"(version $(cat VERSION))"*) ;;
    *) fail "README.md: not the version of the release" ;;
esac

exit "$failed"
