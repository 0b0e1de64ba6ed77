# Creates what the probes of probe.py need outside of a sandbox. Run by root.
set -e
install -m 4755 /usr/bin/id /usr/local/bin/setuid-id
chmod 1777 /srv
mkdir -p /usr/lib/modules
touch /usr/lib/modules/probe /tmp/probe /dev/probe
chmod 666 /tmp/probe /dev/probe
systemd-run --quiet --unit=probe-socket socat ABSTRACT-LISTEN:kist-probe,fork,reuseaddr /dev/null
python3 -c 'import ctypes; assert ctypes.CDLL(None).shmget(0x6B697374, 4096, 0o1666) != -1'
