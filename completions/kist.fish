# Completion of kist and kistd for fish. fish itself quotes the output of a command.

# Prints the command and its arguments so far, without options and their values.
function __kist_words
    set -l skipped
    set -l ended
    for word in (commandline -opc)[2..-1]
        if set -q skipped[1]
            set -e skipped
        else if set -q ended[1]
            printf '%s\n' $word
        else if test "$word" = --
            set ended yes
        else if contains -- $word $__kist_valued
            set skipped yes
        else if not string match -q -- '-*' $word
            printf '%s\n' $word
        end
    end
end

# Checks whether the user types the first word after the program.
function __kist_first
    test (count (commandline -opc)) = 1
end

# Checks whether the user types this command, and whether it has this number of words so far.
function __kist_at -a command count
    set -l words (__kist_words)
    test "$words[1]" = "$command"; or return
    test -z "$count"; or test (count $words) = "$count"
end

# Prints a typed option with its value.
function __kist_option -a name
    set -l words (commandline -opc)
    for index in (seq (count $words))
        switch $words[$index]
            case "$name=*"
                printf '%s\n' $words[$index]
            case $name
                set -q words[(math $index + 1)]; and printf '%s=%s\n' $name $words[(math $index + 1)]
        end
    end
end

# Prints the stored services, or the accounts of a service, or with --references the references. Leaves out names that begin with a dash, because kist would
# read them as options, names that begin with a tilde, because fish does not quote the tilde, and names with control characters or
# characters that reorder or hide text.
function __kist_names -a column
    set -l service $argv[2..-1]
    if test "$column" = 2
        set service (__kist_option --service)
        set -l words (__kist_words)
        set -q service[1]; or not set -q words[2]; or set service --service=$words[2]
    end
    command env KIST_AUTOSTART=0 timeout 2 kist list (__kist_option --socket) $service 2>/dev/null </dev/null |
        command cut -f $column | command env LC_ALL=C grep -v -e '^[-~]' -e '^$' -e '[[:cntrl:]]' -e \Xc2'['\X80-\X9f\Xad']' -e \Xd8\X9c \
            -e \Xe2\X80'['\X8b-\X8f\Xa8-\Xae']' -e \Xe2\X81'['\Xa0-\Xaf']' -e \Xef\Xbb\Xbf | command sort -u
end

# Prints the stored services, or after `kist:` the references.
function __kist_credentials
    if string match -q -- 'kist:*' (commandline -ct)
        __kist_names 1 --references
    else
        __kist_names 1
    end
end

# Prints the references after NAME= in the value of an option.
function __kist_variables
    set -l name (string match -r -- '^(?:--[a-z-]+=)?([^=-][^=]*=)' (commandline -ct))[2]; or return
    for reference in (__kist_names 1 --references)
        printf '%s\n' $name$reference
    end
end

# Completes the command after `--`.
function __kist_program
    set -l words (commandline -opc)
    set -l end (contains -i -- -- $words); or return
    complete -C (string join ' ' -- (string escape -- $words[(math $end + 1)..-1]) (commandline -ct))
end

complete -c kist -f
complete -c kistd -f
