#!/bin/bash
# Healthy once the server greets on its port; during the initialisation it has none. Nobody logs in:
# a refused login may lock an account, and connection_control makes it wait.
LC_ALL=C
exec 2>/dev/null 3<>"/dev/tcp/127.0.0.1/${MYSQL_TCP_PORT:-3306}" || exit 1
read -r -t 5 -N 1 -u 3 || exit 1
