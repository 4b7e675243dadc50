# fish completion for zeno: put it into ~/.config/fish/completions/zeno.fish.
function __zeno_complete
    set -l typed (commandline -opc)
    set -l cur (commandline -ct)
    set -l command $typed[1]
    set -e typed[1]
    for line in (command $command complete-words -- $typed "$cur" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$cur"
            case ':dirs'
                __fish_complete_directories "$cur"
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c zeno -f -a '(__zeno_complete)'
