#!/usr/bin/env bash
# as-user.sh BINARY ARGS...: the command as `nobody`, without groups or capabilities, with a home of its own.
# Called by nextest as the runner of each test. Set-user-id programs (fusermount3) must go on working: no --no-new-privs.
set -euo pipefail
unset XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
export HOME=$WEIGHTLESS_USER_HOME USER=nobody LOGNAME=nobody
export XDG_RUNTIME_DIR=$HOME/run TMPDIR=$HOME/tmp
exec setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups --inh-caps=-all "$@"
