#!/bin/sh
# The configuration of the example's Postfix. A real one needs only the part about the connector.
set -eu

# --- The connector ---
postconf "smtpd_data_restrictions = check_policy_service { inet:connector:10040, timeout=5s, default_action=DUNNO }"
# Last, so that a message that another restriction refuses is not charged.
postconf "smtpd_end_of_data_restrictions = check_policy_service { inet:connector:10040, timeout=10s, try_limit=8, retry_delay=1s, { default_action = 451 4.7.1 Sending quotas cannot be checked at the moment } }"

# --- Only logins may send (a file of Cyrus SASL; a real Postfix uses Dovecot), without TLS ---
postconf 'smtpd_sasl_auth_enable = yes' 'smtpd_sasl_type = cyrus' 'smtpd_sasl_path = smtpd' 'smtpd_tls_auth_only = no'
postconf 'smtpd_relay_restrictions = permit_sasl_authenticated, reject'
mkdir -p /etc/postfix/sasl
printf 'pwcheck_method: auxprop\nauxprop_plugin: sasldb\nmech_list: PLAIN LOGIN\n' >/etc/postfix/sasl/smtpd.conf
printf secret | saslpasswd2 -p -c -u example.org ann
chgrp postfix /etc/sasldb2 && chmod 640 /etc/sasldb2

# --- Nothing leaves this container ---
postconf 'myhostname = mail.example.org' 'mydestination =' 'default_transport = discard' 'maillog_file = /dev/stdout'
# The submission port, without chroot: Postfix must resolve the connector's name.
postconf -M 587/inet='587 inet n - n - - smtpd'
postconf -MX smtp/inet

exec postfix start-fg
