#!/bin/sh
# Removing the package leaves the memory of the agents. Purging it (dpkg alone knows that) deletes them.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
	rm -rf /var/lib/oneiros
fi
