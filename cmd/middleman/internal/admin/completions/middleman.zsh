#compdef middleman
# zsh completion for middleman, from `middleman completion zsh`. Nothing that was
# typed is evaluated.

_middleman() {
    __middleman_reply "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}"
}

_mm() {
    __middleman_reply path "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}"
}

# __middleman_reply offers what completes the last of its arguments.
__middleman_reply() {
    local out line name directive=0
    local -a names
    out=$(command middleman __complete "$@" 2>/dev/null) || return 1
    for line in "${(@f)out}"; do
        case $line in
            :<->) directive=${line#:} ;;
            _activeHelp_*|'') ;;
            *$'\t'*) name=${line%%$'\t'*}; names+=("${name//:/\\:}:${line#*$'\t'}") ;;
            *) names+=("${line//:/\\:}") ;;
        esac
    done
    (( directive & 1 )) && return 1
    # The values of --flag=VALUE come without the flag.
    [[ $PREFIX == -*=* ]] && compset -P 1 '*='
    if (( directive & 16 )); then
        _files -/
    elif (( $#names )); then
        _describe -t values 'middleman' names
    elif (( ! (directive & 4) )); then
        _files
    fi
}

if [[ $funcstack[1] == _middleman ]]; then
    _middleman "$@" # zsh loads this file as the function
else
    compdef _middleman middleman
fi
compdef _mm mm
