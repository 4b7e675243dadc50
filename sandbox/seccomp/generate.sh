#!/bin/sh
# Writes the tables of system call numbers from the constants of golang.org/x/sys/unix.
set -eu
dir=$(go list -m -f '{{.Dir}}' golang.org/x/sys)/unix
table() { # GOARCH, variable, file
  {
    echo '// Code generated from golang.org/x/sys/unix by `go generate`; DO NOT EDIT.'
    printf '\npackage seccomp\n\nvar %s = []number{\n' "$2"
    awk '/^\tSYS_/{printf "\t{\"%s\", %s},\n", tolower(substr($1,5)), $3}' "$dir/zsysnum_linux_$1.go"
    echo '}'
  } | gofmt > "$3"
}
table amd64 numbersAmd64 amd64table.go
table arm64 numbersArm64 arm64table.go
