# Prints what commands.txt has to hold: the names of all commands, and their checksum.
names=$(for command in commands/*.sh; do basename "$command" .sh; done)
echo "$names"
echo "# checksum $(echo "$names" | cksum)"
