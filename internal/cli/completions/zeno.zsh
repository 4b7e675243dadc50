#compdef zeno
# zsh completion for zeno: put it as _zeno into a directory of $fpath.
_zeno() {
    local line word doc
    local -a found
    local -a typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
    for line in "${(@f)$("${(Q)words[1]/#\~/$HOME}" complete-words -- "${typed[@]}" 2>/dev/null)}"; do
        word=${line%%$'\t'*}
        doc=${line#*$'\t'}
        case $word in
            :files) _files ;;
            :dirs) _files -/ ;;
            "") ;;
            *) if [[ $doc == $line ]]; then found+=("${word//:/\\:}"); else found+=("${word//:/\\:}:$doc"); fi ;;
        esac
    done
    (( $#found )) && _describe 'zeno' found
}
if [[ $funcstack[1] == _zeno ]]; then
    _zeno "$@"
else
    compdef _zeno zeno
fi
