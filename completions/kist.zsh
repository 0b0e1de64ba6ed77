#compdef kist kistd
# Completion of kist and kistd for zsh. zsh itself quotes the names that are added with compadd.

_kist_service() { _kist_names service 1 }

# Completes a service, or after `kist:` a reference.
_kist_credential() {
  if [[ $PREFIX == kist:* ]]; then _kist_names reference 1 --references; else _kist_service; fi
}

# Completes the reference after NAME=.
_kist_variable() { compset -P 1 '*=' && _kist_names reference 1 --references }

_kist_account() {
  local typed
  _kist_typed --service
  typed=${typed:-$line[1]}
  _kist_names account 2 ${typed:+"--service=${(Q)typed}"}
}

# Sets `typed` to the typed value of an option, without the backslashes that _arguments adds.
_kist_typed() {
  local -a match mbegin mend
  typed=${opt_args[$1]//(#b)\\(?)/$match[1]}
}

# Adds the stored services, or the accounts of a service, or with --references the references. Leaves out names that begin with a dash, because kist would
# read them as options, and names with control characters or characters that reorder or hide text.
_kist_names() {
  local expl typed
  local -a names
  _kist_typed --socket
  names=(${(f)"$(
    KIST_AUTOSTART=0 timeout 2 kist list ${typed:+"--socket=${(Q)typed}"} "${@:3}" 2>/dev/null </dev/null |
      cut -f $2 | LC_ALL=C grep -v -e '^-' -e '^$' -e '[[:cntrl:]]' -e $'\xc2[\x80-\x9f\xad]' -e $'\xd8\x9c' \
        -e $'\xe2\x80[\x8b-\x8f\xa8-\xae]' -e $'\xe2\x81[\xa0-\xaf]' -e $'\xef\xbb\xbf' | sort -u
  )"})
  _wanted $1 expl $1 compadd -a names
}

# Completes the command after `--`.
_kist_program() {
  local end=${words[(i)--]}
  (( end < CURRENT )) || return
  shift $end words
  (( CURRENT -= end ))
  _normal
}
