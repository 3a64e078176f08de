# fish completion for middleman, from `middleman completion fish`. Nothing that was
# typed is evaluated.

# __middleman_reply prints what completes the token at the cursor, after the words
# that it is given.
function __middleman_reply
    set -l token (commandline -ct)
    set -l out (command middleman __complete $argv "$token" 2>/dev/null); or return
    set -l directive (string replace : '' -- $out[-1])
    set -e out[-1]
    test (math "bitand($directive, 1)") -eq 0; or return
    # The values of --flag=VALUE come without the flag.
    set -l before (string match -r -- '^-[^=]*=' $token)
    set -l value (string replace -- "$before" '' $token)
    if test (math "bitand($directive, 16)") -ne 0
        __middleman_paths $value | string match -r -- '.*/$' | string replace -r '^' -- "$before"
    else if test (count $out) -gt 0
        for line in $out
            printf '%s%s\n' "$before" $line
        end
    else if test (math "bitand($directive, 4)") -eq 0
        __middleman_paths $value | string replace -r '^' -- "$before"
    end
end

# __middleman_paths completes a path as the argument of a command that fish does not
# know.
function __middleman_paths
    complete -C "'' $argv[1]"
end

function __middleman_complete
    set -l words (commandline -opc)
    __middleman_reply $words[2..-1]
end

function __middleman_complete_mm
    set -l words (commandline -opc)
    __middleman_reply path $words[2..-1]
end

complete -c middleman -f -a '(__middleman_complete)'
complete -c mm -f -a '(__middleman_complete_mm)'
