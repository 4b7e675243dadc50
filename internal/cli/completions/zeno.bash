# bash completion for zeno: put it into ~/.local/share/bash-completion/completions/zeno, or source it.
_zeno() {
    local cur=${COMP_WORDS[COMP_CWORD]} line word
    # Words as typed: bash splits them at = and : too.
    local -a words=()
    local i text=${COMP_LINE:0:COMP_POINT}
    read -r -a words <<<"$text"
    [[ $text == *[[:space:]] ]] && words+=("")
    local last=${words[${#words[@]}-1]}
    COMPREPLY=()
    local cut=${last%"$cur"}
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        case $word in
            :files) compopt -o filenames 2>/dev/null; while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -f -- "$cur") ;;
            :dirs) compopt -o filenames 2>/dev/null; while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -d -- "$cur") ;;
            "") ;;
            *) COMPREPLY+=("${word#"$cut"}") ;;
        esac
    done < <("${words[0]/#\~/$HOME}" complete-words -- "${words[@]:1}" 2>/dev/null)
}
complete -F _zeno zeno
