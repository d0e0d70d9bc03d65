"""
Sends messages that a quota pays for: reserves, sends, then commits, or releases if the message was not sent.

    QUOTA_URL=… QUOTA_TOKEN=… PROVIDER_URL=… python3 sender.py <outbox.jsonl

Each line of stdin is a message, {"id": "8841", "account_id": 7, "amount": 1, …}; each line of stdout is its result:
  sent      charged
  not sent  not charged. To send it after all, give it a new id: 8841.2
  refused   not charged. Send the same line again from `refills_at` on; where that is null, ask an administrator
  invalid   not charged. The service takes no such message; `problem` says what is wrong with it
  unknown   not sent. Send the line again soon, with the `run` of this result
  seen      left alone, since another run has reserved for it: `committed` was sent, `reserved` is perhaps being sent;
            `released` was not sent, `expired` perhaps: then find out, and give it a new id
Python 3.9 or later, without packages. docs/use/integrating.md explains the calls.
"""

import json, os, random, sys, time, uuid
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import quote, urlsplit

USAGE = "/api/v1/quotas/usage"  # SMS: /api/sms/quota/usage, and user_id instead of account_id
# Of each wait for the network: without it, one silent connection stops the sender for ever. The service itself tries
# for six seconds to reach its database.
TIMEOUT_SECONDS = 15
# Of a call with all its attempts: the sender goes on, and the outbox tries the message again later.
DEADLINE_SECONDS = 60
ATTEMPTS = 7
# Longer than a message takes; the hold of a sender that was killed returns by itself.
HOLD_SECONDS = 900
MAX_ANSWER_BYTES = 1_000_000


class Refused(Exception):
    """An answer that a repetition would not change: its status, and its problem, whose `code` says why."""


class Unknown(Exception):
    """No answer in time. The call may have taken effect."""


def connect(url):
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return kind(parts.netloc, timeout=TIMEOUT_SECONDS), parts.path.rstrip("/")


def request(connection, method, path, body, headers):
    """One attempt. Raises OSError or HTTPException without an answer; the next attempt then connects again."""
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json", **headers})
        response = connection.getresponse()
        return response, response.read(MAX_ANSWER_BYTES)
    except (OSError, HTTPException):
        connection.close()
        raise


missing = [name for name in ("QUOTA_URL", "QUOTA_TOKEN", "PROVIDER_URL") if not os.environ.get(name)]
if missing:
    sys.exit("not set: " + ", ".join(missing))
quota, base = connect(os.environ["QUOTA_URL"])


def call(run, method, path, body=None, key=None):
    """Sends a call until it is answered. Returns the answer, and whether it repeats one to the same key."""
    headers = {"Authorization": "Bearer " + os.environ["QUOTA_TOKEN"], "X-Request-Id": run}
    if key is not None:
        headers["Idempotency-Key"] = key
    deadline = time.monotonic() + DEADLINE_SECONDS
    for attempt in range(ATTEMPTS):
        wait = 0
        try:
            response, text = request(quota, method, base + USAGE + path, body, headers)
            if response.status == 429 or response.status >= 500:
                # Coming back before the time that an overloaded server names keeps it overloaded.
                named = response.getheader("Retry-After", "")
                wait = int(named) if named.isdecimal() else 0
            else:
                answer = json.loads(text)
                if response.status >= 300:
                    raise Refused(response.status, answer)
                return answer, response.getheader("Idempotency-Replayed") == "true"
        except (OSError, HTTPException, json.JSONDecodeError, UnicodeDecodeError):
            # Lost before the service acted or after, or cut off. The key makes it safe to ask again.
            pass
        # Growing, so that a service in trouble gets room; random, so that senders do not come back all at once.
        wait += random.uniform(0, min(10, 0.2 * 2**attempt))
        if attempt + 1 == ATTEMPTS or time.monotonic() + wait > deadline:
            raise Unknown(f"{method} {path}: no answer")
        time.sleep(wait)


def deliver(message):
    """Hands a message to the provider, once. Returns False only if it was certainly not sent."""
    connection, path = connect(os.environ["PROVIDER_URL"])
    query = urlsplit(os.environ["PROVIDER_URL"]).query
    try:
        connection.connect()
    except OSError:
        return False
    try:
        response, _ = request(connection, "POST", path + (query and "?" + query), message, {"Connection": "close"})
        return not 400 <= response.status < 500
    except (OSError, HTTPException):
        # It may have been sent; whoever releases in doubt lets messages go out uncharged.
        return True


def send(message):
    # Made of the message's own id, not in the attempt: each retry, a second worker and a run after a crash have the
    # same, so the message is charged once. The run's id is new each time, and tells who made a hold.
    key, run = "msg-" + quote(str(message["id"]), safe=""), message.get("run") or str(uuid.uuid4())
    hold = {"account_id": message["account_id"], "amount": message.get("amount", 1), "ttl_seconds": HOLD_SECONDS}
    try:
        operation, replayed = call(run, "POST", "/reserve", hold, key)
        at = f"/{operation['id']}"
        if replayed:
            # Is it the answer that this run has lost, or the hold of another? Whoever sends on that one sends twice.
            made, now = call(run, "GET", at + "/acts")[0]["items"][0], call(run, "GET", at)[0]
            if made["request_id"] != run or now["state"] != "reserved":
                return {"result": "seen", "state": now["state"]}
    except Unknown:
        return {"result": "unknown", "run": run}
    except Refused as refusal:
        status, problem = refusal.args
        if status in (400, 422):
            # What is wrong is this message: the ones behind it are not held up.
            return {"result": "invalid", "problem": problem}
        if status != 409:
            raise
        # Nothing was charged, and the key is still free: the same message may be sent from `refills_at` on.
        return {"result": "refused", "code": problem["code"], "refills_at": problem.get("refills_at")}
    sent = deliver(message)
    result = {"result": "sent" if sent else "not sent"}
    try:
        call(run, "POST", at + ("/commit" if sent else "/release"), {})
    except (Unknown, Refused) as error:
        # For a person, or a job that settles it before the hold expires.
        result["unsettled"] = f"{operation['id']}: {error}"
    return result


for line in sys.stdin:
    if not line.strip():
        continue
    message = json.loads(line)
    try:
        print(json.dumps({"id": message["id"], **send(message)}), flush=True)
    except Refused as refusal:
        # A wrong token, or a bug here: every further message would meet it. They stay in the outbox.
        sys.exit(f"message {message['id']}: {refusal}")
