# Completion of kist for bash.
#
# Nothing of what is typed or stored is evaluated: `compgen -W` would carry out `$(...)` in a name.

# Takes a command line apart: `words` as kist would get them, and `quote`, the quotation mark that is
# open at its end. Fails where only a shell can tell what it gets.
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

# The services that there are, or the accounts of one, a line each. A name that begins with a dash would
# be taken for an option. (`command`: what a person calls grep may colour what it prints.)
__kist_names() {
  command timeout 2 kist list "${@:2}" 2>/dev/null </dev/null |
    command cut -f "$1" | command grep -v -e '^-' -e '^$' -e '[[:cntrl:]]' | command sort -u
}

# Puts `rest`, what is still to be typed of a name, into the form in which bash reads it after `quote`.
__kist_quote() {
  case $quote in
    \') rest=${rest//\'/"'\''"} ;;
    \")
      rest=${rest//\\/'\\'} rest=${rest//\"/'\"'} rest=${rest//\$/'\$'} rest=${rest//\`/'\`'}
      # The history is looked up within double quotes, and no backslash keeps bash from that.
      rest=${rest//\!/"\"'!'\""}
      ;;
    *) [[ ! $rest ]] || printf -v rest %q "$rest" ;;
  esac
  # Readline closes a quotation, unless its end looks as if it were closed.
  rest+=$quote
}

_kist() {
  local -a words=() arguments=() found=() socket=() scope=()
  local -A options=()
  local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT} current name value rest
  local quote='' kind='' more='' ended='' before=''
  local -i i last position=0
  COMPREPLY=()
  __kist_parse "$line" || { compopt -o default; return; }

  last=$((${#words[@]} - 1))
  current=${words[last]}
  if ((last == 1)); then __kist_table ''; else __kist_table "${words[1]}"; fi
  for ((i = 2; i < last; i++)); do
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
      [[ ${arguments[position]} != service ]] || scope=("--service=${words[i]}")
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
  case $kind in
    service) mapfile -t found < <(__kist_names 1 "${socket[@]}") ;;
    account) mapfile -t found < <(__kist_names 2 "${socket[@]}" "${scope[@]}") ;;
    program) mapfile -t found < <(compgen -c -- "$current") ;;
    file) compopt -o default ;;
    'one of '*) read -ra found <<<"${kind#one of }" ;;
  esac

  # bash replaces no more than $2, which begins after a quotation mark, a colon or an equals sign.
  __kist_parse "${line%"$2"}" || return
  for name in "${found[@]}"; do
    name=$before$name
    [[ $name == "$current"* ]] || continue
    rest=${name#"${words[-1]}"}
    __kist_quote
    COMPREPLY+=("$rest")
  done
}
