tr '[:upper:]' '[:lower:]'
