# Completion of kist and kistd for bash.
#
# This script never evaluates typed or stored text. It does not use `compgen -W`, which would execute `$(...)` in a name.

# Splits a command line into `words`, as kist would get them. `quote` is the quotation mark that is open at the end.
# Fails if only a shell can determine the words.
__kist_parse() {
  local line=$1 character word='' begun=''
  local -i i
  words=() quote=''
  for ((i = 0; i < ${#line}; i++)); do
    character=${line:i:1}
    case $quote$character in
      [[:space:]])
        [[ ! $begun ]] || words+=("$word")
        word='' begun=''
        continue
        ;;
      [\'\"]) quote=$character ;;
      \'\' | \"\") quote='' ;;
      \'*) word+=$character ;;
      [\$\`\<\>\|\&\;\(\)] | \"[\$\`]) return 1 ;;
      \\ | \"\\)
        i+=1
        [[ ! $quote || ${line:i:1} == [\"\\\$\`] ]] || word+=\\
        word+=${line:i:1}
        ;;
      *) word+=$character ;;
    esac
    begun=yes
  done
  words+=("$word")
}

# Prints the stored services, or the accounts of a service, or with --references the references, one on each line.
# Leaves out names that begin with a dash, because kist would read them as options, and names with control characters
# or characters that reorder or hide text. (`command`: an alias of grep may color its output.)
__kist_names() {
  KIST_AUTOSTART=0 command timeout 2 kist list "${@:2}" 2>/dev/null </dev/null |
    command cut -f "$1" | LC_ALL=C command grep -v -e '^-' -e '^$' -e '[[:cntrl:]]' -e $'\xc2[\x80-\x9f\xad]' -e $'\xd8\x9c' \
      -e $'\xe2\x80[\x8b-\x8f\xa8-\xae]' -e $'\xe2\x81[\xa0-\xaf]' -e $'\xef\xbb\xbf' | command sort -u
}

# Quotes `rest`, the missing part of a name, as bash needs it after `quote`.
__kist_quote() {
  case $quote in
    \') rest=${rest//\'/"'\''"} ;;
    \")
      rest=${rest//\\/'\\'} rest=${rest//\"/'\"'} rest=${rest//\$/'\$'} rest=${rest//\`/'\`'}
      # bash expands the history within double quotes, and a backslash does not prevent that.
      rest=${rest//\!/"\"'!'\""}
      ;;
    *) [[ ! $rest ]] || printf -v rest %q "$rest" ;;
  esac
  # Readline closes a quotation, unless the text already seems to end with a closing mark.
  rest+=$quote
}

_kist() {
  local -a words=() arguments=() found=() socket=() scope=()
  local -A options=()
  local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT} current name value rest
  local quote='' kind='' more='' ended='' before='' commands='' program=kist
  local -i i last position=0
  COMPREPLY=()
  __kist_parse "$line" || { compopt -o default; return; }

  last=$((${#words[@]} - 1))
  current=${words[last]}
  [[ ${1##*/} != kistd ]] || program=kistd
  # A command of a program is its first word.
  if ((last == 1)) || [[ ${words[1]} == -* ]]; then
    i=1
    __kist_table $program
    ((last > 1)) || [[ ! $commands ]] || arguments=("$commands")
  else
    i=2
    __kist_table "$program ${words[1]}"
  fi
  for (( ; i < last; i++)); do
    name=${words[i]%%=*}
    if [[ ! $ended && ${words[i]} == -- ]]; then
      ended=yes
    elif [[ ! $ended && $name == -* ]]; then
      kind=${options[$name]}
      [[ $kind ]] || continue
      if [[ ${words[i]} == *=* ]]; then
        value=${words[i]#*=}
      elif ((i + 1 < last)); then
        value=${words[i += 1]}
      else
        break
      fi
      kind=''
      case $name in
        --service) scope=("--service=$value") ;;
        --socket) socket=("--socket=$value") ;;
      esac
    else
      [[ ${arguments[position]} != @(service|credential) ]] || scope=("--service=${words[i]}")
      position+=1
    fi
  done

  if [[ ! $kind && ! $ended && $current == --*=* ]]; then
    before=${current%%=*}=
    kind=${options[${current%%=*}]}
  elif [[ ! $kind && ! $ended && $current == -* ]]; then
    found=("${!options[@]}")
  elif [[ ! $kind ]]; then
    kind=${arguments[position]:-$more}
    [[ $kind != program || $ended ]] || kind=''
  fi
  value=${current#"$before"}
  case $kind in
    credential) if [[ $value == kist:* ]]; then kind=reference; else kind=service; fi ;;
    variable)
      if [[ $value == *=* ]]; then kind=reference before+=${value%%=*}=; fi
      ;;
  esac
  case $kind in
    reference) mapfile -t found < <(__kist_names 1 "${socket[@]}" --references) ;;
    service) mapfile -t found < <(__kist_names 1 "${socket[@]}") ;;
    account) mapfile -t found < <(__kist_names 2 "${socket[@]}" "${scope[@]}") ;;
    program) mapfile -t found < <(compgen -c -- "$current") ;;
    file) compopt -o default ;;
    directory) compopt -o dirnames ;;
    'one of '*) read -ra found <<<"${kind#one of }" ;;
  esac

  # bash replaces only $2, which begins after a quotation mark, a colon or an equals sign.
  __kist_parse "${line%"$2"}" || return
  for name in "${found[@]}"; do
    name=$before$name
    [[ $name == "$current"* ]] || continue
    rest=${name#"${words[-1]}"}
    __kist_quote
    COMPREPLY+=("$rest")
  done
}
