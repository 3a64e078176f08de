# bash completion for middleman, from `middleman completion bash`. It needs neither
# the package bash-completion nor more than bash 3.2.

# __middleman_reply sets COMPREPLY for the words that its caller has in the array
# words. Nothing that was typed is evaluated.
__middleman_reply() {
    local cur=${words[${#words[@]}-1]} out line name lead tail before="" value directive=0 width=0
    local -a names=() texts=()
    COMPREPLY=()
    out=$(command middleman __complete "${words[@]:1}" 2>/dev/null) || return
    # The values of --flag=VALUE come without the flag.
    value=$cur
    case $cur in
        -*=*) before=${cur%%=*}=; value=${cur#*=} ;;
    esac
    while IFS= read -r line; do
        case $line in
            :[0-9]*) directive=${line#:}; continue ;;
            _activeHelp_*) continue ;;
        esac
        name=${line%%$'\t'*}
        case $name in
            "$value"*) ;;
            *) continue ;;
        esac
        names[${#names[@]}]=$name
        if [ "$name" = "$line" ]; then
            texts[${#texts[@]}]=""
        else
            texts[${#texts[@]}]=${line#*$'\t'}
        fi
        [ "${#name}" -le "$width" ] || width=${#name}
    done <<END
$out
END
    [ $((directive & 1)) -eq 0 ] || return
    # readline replaces only what follows the last of its word breaks; an @ belongs to
    # the word after it.
    tail=${cur##*["$COMP_WORDBREAKS"]}
    lead=${cur%"$tail"}
    lead=${lead%@}
    if [ $((directive & 16)) -ne 0 ] || { [ ${#names[@]} -eq 0 ] && [ $((directive & 4)) -eq 0 ]; }; then
        local kind=-f
        [ $((directive & 16)) -eq 0 ] || kind=-d
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do
            [ -z "$line" ] || COMPREPLY[${#COMPREPLY[@]}]=$before$line
        done <<END
$(compgen $kind -- "$value")
END
    else
        [ $((directive & 2)) -eq 0 ] || compopt -o nospace 2>/dev/null
        local i quoted
        for ((i = 0; i < ${#names[@]}; i++)); do
            printf -v quoted %q "${names[i]}"
            if [ ${#names[@]} -gt 1 ] && [ -n "${texts[i]}" ]; then
                printf -v quoted '%-*s  (%s)' "$width" "$quoted" "${texts[i]}"
            fi
            COMPREPLY[${#COMPREPLY[@]}]=$before$quoted
        done
    fi
    for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
        COMPREPLY[i]=${COMPREPLY[i]#"$lead"}
    done
}

# __middleman_words sets words to the words up to the cursor. bash splits them at
# COMP_WORDBREAKS too; what no space separates is one word.
__middleman_words() {
    local rest=${COMP_LINE:0:COMP_POINT} piece i n=-1
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        case $n$rest in
            -1* | *[0-9][[:space:]]*)
                if [ $n -lt 0 ] || [ "${rest#[[:space:]]}" != "$rest" ]; then
                    n=$((n + 1))
                    words[n]=""
                    rest=${rest#"${rest%%[![:space:]]*}"}
                fi
                ;;
        esac
        [ "$i" -lt "$COMP_CWORD" ] || piece=$rest
        words[n]=${words[n]}$piece
        rest=${rest#"$piece"}
    done
}

_middleman() {
    local -a words=()
    __middleman_words
    __middleman_reply
}
complete -F _middleman middleman

_mm() {
    local -a words=()
    __middleman_words
    words=(middleman path "${words[@]:1}")
    __middleman_reply
}
complete -F _mm mm
