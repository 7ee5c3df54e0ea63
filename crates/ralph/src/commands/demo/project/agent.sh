# The built-in agent of the demo. It knows nothing of its own: whether it runs into the trap depends only on its prompt.
prompt=$(cat)
in_prompt() { printf '%s\n' "$prompt" | "$@"; }
task=$(in_prompt sed -n '/^\*\*.*\*\* (t-[0-9a-f]*)$/{s/^\*\*\(.*\)\*\* (\(.*\))$/\2 \1/p;q;}')
name=${task##* }
case $name in
    upper) script="tr '[:lower:]' '[:upper:]'" expected='ONE TWO' ;;
    count) script="wc -w | tr -d ' '" expected=2 ;;
    first) script="cut -d ' ' -f 1" expected=one ;;
    second) script="cut -d ' ' -f 2" expected=two ;;
    hyphens) script="tr ' ' -" expected=one-two ;;
esac
echo "$script" > "commands/$name.sh"
echo "test \"\$(echo one two | sh commands/$name.sh)\" = '$expected'" > "tests/$name.sh"

note='commands.txt is never edited: tools/list.sh prints what it has to hold'
memory=$(in_prompt sed -n -e '/^### /h' -e "\\|^> $note\$|{g;s/^### //p;q;}")
if [ "$memory" ]; then
    echo "<memory-used>$memory</memory-used>"
    sh tools/list.sh > commands.txt
elif in_prompt grep -qxE '### Previous Attempts|## Retry Information'; then
    sh tools/list.sh > commands.txt
    ralph remember "$note" --type fix --tags commands
    echo '<journal>The gate refused a line that was written into commands.txt by hand.</journal>'
else
    echo "$name" >> commands.txt
fi
echo "The command $name is done, with a test, and listed in commands.txt."
echo "<task-done>${task%% *}</task-done>"
