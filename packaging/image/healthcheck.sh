#!/bin/sh
# Healthy once the server answers on its port; during the initialisation it has none. It needs no
# account: being refused is an answer, too.
exec mysqladmin --no-defaults --protocol=tcp --host=127.0.0.1 --port="${MYSQL_TCP_PORT:-3306}" --connect-timeout=5 \
  --silent ping >/dev/null 2>&1
