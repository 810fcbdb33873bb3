#!/bin/sh
# Renders the template for HOST, PORT and WORKERS and becomes nginx; `start.sh version` prints the receipt.
set -eu

if [ "${1:-}" = version ]; then
    nginx -v 2>&1
    exit
fi

# One folder for each user and port, because a process that execs cannot clean up after itself.
dir=${TMPDIR:-/tmp}/fairground-nginx-$(id -u)-$PORT
mkdir -p -m 711 "$dir"
user=
if [ "$(id -u)" = 0 ]; then
    user="user nobody $(id -gn nobody);"
fi

sed -e "s|@USER@|$user|" -e "s|@DIR@|$dir|" -e "s|@HOST@|$HOST|" -e "s|@PORT@|$PORT|" -e "s|@WORKERS@|${NGINX_PROCESSES:-$WORKERS}|" \
    -e "s|@REQUESTS@|${NGINX_REQUESTS:-2147483647}|" \
    nginx.conf.template >"$dir/nginx.conf"
ulimit -n "$(ulimit -H -n)"
exec nginx -e stderr -p "$dir" -c "$dir/nginx.conf"
