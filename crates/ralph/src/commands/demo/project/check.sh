# What has to hold before a change counts: the tests pass, and the list of commands is right.
failed=0
for test in tests/*.sh; do
    sh "$test" || { echo "FAIL $test"; failed=1; }
done
if [ "$(cat commands.txt)" != "$(sh tools/list.sh)" ]; then
    echo "FAIL commands.txt: its checksum is wrong"
    failed=1
fi
exit "$failed"
