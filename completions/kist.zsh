#compdef kist
# Completion of kist for zsh, which puts into quotes itself what is added with compadd.

_kist_service() { _kist_names service 1 }

_kist_account() {
  local typed
  _kist_typed --service
  typed=${typed:-$line[1]}
  _kist_names account 2 ${typed:+"--service=${(Q)typed}"}
}

# Puts what was typed after an option into `typed`, without the backslashes that _arguments adds.
_kist_typed() {
  local -a match mbegin mend
  typed=${opt_args[$1]//(#b)\\(?)/$match[1]}
}

# The services that there are, or the accounts of one. A name that begins with a dash would be taken for
# an option.
_kist_names() {
  local expl typed
  local -a names
  _kist_typed --socket
  names=(${(f)"$(
    timeout 2 kist list ${typed:+"--socket=${(Q)typed}"} "${@:3}" 2>/dev/null </dev/null |
      cut -f $2 | grep -v -e '^-' -e '^$' -e '[[:cntrl:]]' | sort -u
  )"})
  _wanted $1 expl $1 compadd -a names
}

# What completes the command after `--`.
_kist_program() {
  local end=${words[(i)--]}
  (( end < CURRENT )) || return
  shift $end words
  (( CURRENT -= end ))
  _normal
}
