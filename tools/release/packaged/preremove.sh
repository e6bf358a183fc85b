#!/bin/sh
# Stops the services before the programs go. An upgrade (dpkg: upgrade, rpm: 1) leaves them running until it is done.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now oneiros-up.service oneiros-serve.service oneiros-worker.service || true
	fi
	;;
esac
