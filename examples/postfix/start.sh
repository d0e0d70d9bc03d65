#!/bin/sh
# The configuration of the example's Postfix. Of it, a real one needs the part about the connector.
set -eu

# --- The connector ---
# Last, so that nobody pays for what another restriction refuses. Whatever it does, Postfix waits at most ten seconds.
postconf "smtpd_end_of_data_restrictions = check_policy_service { inet:connector:10040, timeout=10s }"

# --- Who may send: whoever logs in (a file of Cyrus SASL, where a real one has Dovecot), without TLS ---
postconf 'smtpd_sasl_auth_enable = yes' 'smtpd_sasl_type = cyrus' 'smtpd_sasl_path = smtpd' 'smtpd_tls_auth_only = no'
postconf 'smtpd_relay_restrictions = permit_sasl_authenticated, reject'
mkdir -p /etc/postfix/sasl
printf 'pwcheck_method: auxprop\nauxprop_plugin: sasldb\nmech_list: PLAIN LOGIN\n' >/etc/postfix/sasl/smtpd.conf
printf secret | saslpasswd2 -p -c -u example.org ann
chgrp postfix /etc/sasldb2 && chmod 640 /etc/sasldb2

# --- Nothing leaves this container ---
postconf 'myhostname = mail.example.org' 'mydestination =' 'default_transport = discard' 'maillog_file = /dev/stdout'
# The submission port, and not in a root of its own: the connector's name must be found.
postconf -M 587/inet='587 inet n - n - - smtpd'
postconf -MX smtp/inet

exec postfix start-fg
