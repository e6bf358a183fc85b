#!/bin/sh
# Makes the user and the folder of data. It starts nothing: which service a machine runs is its owner's choice.
set -e
if ! getent passwd oneiros >/dev/null; then
	if command -v systemd-sysusers >/dev/null; then
		systemd-sysusers oneiros.conf
	else
		useradd --system --user-group --home-dir /var/lib/oneiros --no-create-home --shell /usr/sbin/nologin oneiros
	fi
fi
install -d -o oneiros -g oneiros -m 0700 /var/lib/oneiros
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# After an upgrade, what runs is started anew; what does not run stays so. A worker that runs goes on with the build
	# before: without Worker Versioning the workers of all hosts stop before one of the new build starts.
	# Servers follow the workers, which may not read what a newer server sends.
	systemctl try-restart oneiros-up.service || true
	if systemctl is-active --quiet oneiros-worker.service; then
		echo "oneiros-worker still runs the build before. Stop it on every host, start it, then restart oneiros-serve (docs/operations.md, Upgrade)."
	else
		systemctl try-restart oneiros-serve.service || true
	fi
fi
