<?php

/**
 * Sends messages that a quota pays for: reserves, sends, then commits, or releases if the message was not sent.
 *
 *     QUOTA_URL=… QUOTA_TOKEN=… PROVIDER_URL=… php sender.php <outbox.jsonl
 *
 * Each line of stdin is a message, {"id": "8841", "account_id": 7, "amount": 1, …}; each line of stdout is its result:
 *   sent      charged
 *   not sent  not charged. To send it after all, give it a new id: 8841.2
 *   refused   not charged. Send the same line again from `refills_at` on; where that is null, ask an administrator
 *   invalid   not charged. The service takes no such message; `problem` says what is wrong with it
 *   unknown   not sent. Send the line again soon, with the `run` of this result
 *   seen      left alone, since another run has reserved for it: `committed` was sent, `reserved` is perhaps being
 *             sent; `released` was not sent, `expired` perhaps: then find out, and give it a new id
 * PHP 8.1 or later, without packages. docs/use/integrating.md explains the calls.
 */

declare(strict_types=1);

const USAGE = '/api/v1/quotas/usage'; // SMS: /api/sms/quota/usage, and user_id instead of account_id
// Of each wait for the network: without it, one silent connection stops the sender for ever. The service itself tries
// for six seconds to reach its database.
const TIMEOUT_SECONDS = 15;
// Of a call with all its attempts: the sender goes on, and the outbox tries the message again later.
const DEADLINE_SECONDS = 60;
const ATTEMPTS = 7;
// Longer than a message takes; the hold of a sender that was killed returns by itself.
const HOLD_SECONDS = 900;
const MAX_ANSWER_BYTES = 1_000_000;

/** An answer that a repetition would not change: its status, and its problem, whose `code` says why. */
final class Refused extends Exception
{
    public function __construct(public readonly int $status, public readonly array $problem)
    {
        parent::__construct($status . ' ' . json_encode($problem));
    }
}

/** No answer in time. The call may have taken effect. */
final class Unknown extends Exception
{
}

/** One attempt. Returns status, headers by lower-case name, and body; the status is 0 without an answer. */
function request(string $method, string $url, ?array $body, array $headers): array
{
    $http = [
        'method' => $method,
        'header' => ['Content-Type: application/json', ...$headers],
        'content' => $body === null ? '' : json_encode((object) $body),
        'timeout' => TIMEOUT_SECONDS,
        'ignore_errors' => true, // the body of a refusal says why
        'follow_location' => 0,
    ];
    $stream = @fopen($url, 'r', false, stream_context_create(['http' => $http]));
    if ($stream === false) {
        return [0, [], ''];
    }
    $text = (string) stream_get_contents($stream, MAX_ANSWER_BYTES);
    $lines = stream_get_meta_data($stream)['wrapper_data'];
    fclose($stream);
    $values = [];
    foreach (array_slice($lines, 1) as $line) {
        [$name, $value] = explode(':', $line, 2) + [1 => ''];
        $values[strtolower($name)] = trim($value);
    }
    return [(int) (explode(' ', $lines[0])[1] ?? 0), $values, $text];
}

/** Sends a call until it is answered. Returns the answer, and whether it repeats one to the same key. */
function call(string $run, string $method, string $path, ?array $body = null, ?string $key = null): array
{
    $headers = ['Authorization: Bearer ' . getenv('QUOTA_TOKEN'), "X-Request-Id: $run"];
    if ($key !== null) {
        $headers[] = "Idempotency-Key: $key";
    }
    $deadline = hrtime(true) / 1e9 + DEADLINE_SECONDS;
    for ($attempt = 0; $attempt < ATTEMPTS; $attempt += 1) {
        [$status, $values, $text] = request($method, rtrim(getenv('QUOTA_URL'), '/') . USAGE . $path, $body, $headers);
        $wait = 0;
        if ($status === 429 || $status >= 500) {
            // Coming back before the time that an overloaded server names keeps it overloaded.
            $named = $values['retry-after'] ?? '';
            $wait = ctype_digit($named) ? (int) $named : 0;
        } elseif (is_array($answer = json_decode($text, true))) {
            if ($status >= 300) {
                throw new Refused($status, $answer);
            }
            return [$answer, ($values['idempotency-replayed'] ?? '') === 'true'];
        }
        // Otherwise it was lost before the service acted or after, or cut off. The key makes it safe to ask again.
        // Growing, so that a service in trouble gets room; random, so that senders do not come back all at once.
        $wait += mt_rand() / mt_getrandmax() * min(10, 0.2 * 2 ** $attempt);
        if ($attempt + 1 === ATTEMPTS || hrtime(true) / 1e9 + $wait > $deadline) {
            throw new Unknown("$method $path: no answer");
        }
        usleep((int) ($wait * 1e6));
    }
}

/** Hands a message to the provider, once. Returns false only if it was certainly not sent. */
function deliver(array $message): bool
{
    $url = getenv('PROVIDER_URL');
    $isSecure = parse_url($url, PHP_URL_SCHEME) === 'https';
    $port = parse_url($url, PHP_URL_PORT) ?? ($isSecure ? 443 : 80);
    if (!@fsockopen(parse_url($url, PHP_URL_HOST), $port, $code, $why, TIMEOUT_SECONDS)) {
        return false;
    }
    // Without an answer, it may have been sent; whoever releases in doubt lets messages go out uncharged.
    [$status] = request('POST', $url, $message, []);
    return $status < 400 || $status >= 500;
}

function send(array $message): array
{
    // Made of the message's own id, not in the attempt: each retry, a second worker and a run after a crash have the
    // same, so the message is charged once. The run's id is new each time, and tells who made a hold.
    [$key, $run] = ['msg-' . rawurlencode((string) $message['id']), $message['run'] ?? bin2hex(random_bytes(16))];
    ['account_id' => $account, 'amount' => $amount] = $message + ['amount' => 1];
    $hold = ['account_id' => $account, 'amount' => $amount, 'ttl_seconds' => HOLD_SECONDS];
    try {
        [$operation, $replayed] = call($run, 'POST', '/reserve', $hold, $key);
        $at = "/{$operation['id']}";
        if ($replayed) {
            // Is it the answer that this run has lost, or the hold of another? Whoever sends on that one sends twice.
            [$made, $now] = [call($run, 'GET', "$at/acts")[0]['items'][0], call($run, 'GET', $at)[0]];
            if ($made['request_id'] !== $run || $now['state'] !== 'reserved') {
                return ['result' => 'seen', 'state' => $now['state']];
            }
        }
    } catch (Unknown) {
        return ['result' => 'unknown', 'run' => $run];
    } catch (Refused $refusal) {
        if (in_array($refusal->status, [400, 422], true)) {
            // What is wrong is this message: the ones behind it are not held up.
            return ['result' => 'invalid', 'problem' => $refusal->problem];
        }
        if ($refusal->status !== 409) {
            throw $refusal;
        }
        // Nothing was charged, and the key is still free: the same message may be sent from `refills_at` on.
        $problem = $refusal->problem;
        return ['result' => 'refused', 'code' => $problem['code'], 'refills_at' => $problem['refills_at'] ?? null];
    }
    $sent = deliver($message);
    $result = ['result' => $sent ? 'sent' : 'not sent'];
    try {
        call($run, 'POST', $at . ($sent ? '/commit' : '/release'), []);
    } catch (Unknown | Refused $error) {
        // For a person, or a job that settles it before the hold expires.
        $result['unsettled'] = "{$operation['id']}: {$error->getMessage()}";
    }
    return $result;
}

$missing = array_filter(['QUOTA_URL', 'QUOTA_TOKEN', 'PROVIDER_URL'], fn (string $name) => !getenv($name));
if ($missing !== []) {
    fwrite(STDERR, 'not set: ' . implode(', ', $missing) . "\n");
    exit(1);
}
while (($line = fgets(STDIN)) !== false) {
    if (trim($line) === '') {
        continue;
    }
    // As numbers, two large ids may be one.
    $message = json_decode($line, true, flags: JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
    try {
        echo json_encode(['id' => $message['id'], ...send($message)]), "\n";
    } catch (Refused $refusal) {
        // A wrong token, or a bug here: every further message would meet it. They stay in the outbox.
        fwrite(STDERR, "message {$message['id']}: {$refusal->getMessage()}\n");
        exit(1);
    }
}
