/** Generates docs/errors.md: the error catalogue, with advice for the caller. */
import { catalogue, type ErrorCode } from '../src/errors.ts'

/** How the caller or the operator handles each error. */
const advice: Readonly<Record<ErrorCode, string>> = {
  bad_request: 'Correct the request as the message says.',
  invalid_json: 'Send valid JSON, encoded as UTF-8.',
  invalid_name: 'Use another name.',
  invalid_value: 'Correct the value as the message says.',
  invalid_index: 'Read the length of the list, then use an index within it.',
  invalid_input: 'Correct the field that `field` names. `/openapi.json` has the schema.',
  index_required: 'Query by an indexed field. The application declares the index that the message names.',
  rejected: 'Send a value that the application accepts. Its property hook rejected this value.',
  no_result: 'Check the input: every handler of the operation returned `null`.',
  unauthorized: 'Authenticate, or refresh the token. `WWW-Authenticate` names the accepted schemes.',
  actor_moved:
    'Send the request to `Location`. `notice` is the signed proof (docs/spec/moving.md). Peers learn the new address by themselves.',
  arrival_refused: 'Keep the actor: this service never takes it by this announcement (docs/spec/moving.md).',
  archive_missing: 'Send the archive of the move again, then repeat the activation.',
  actor_suspended: 'The owner asks the operator of the service. The operator resumes the actor on `/admin/actors`.',
  actor_moving: 'Repeat the request after `Retry-After` seconds.',
  insufficient_user_authentication:
    'Let the owner sign in again, then repeat the request within the `max_age` of `WWW-Authenticate`, in seconds.',
  forbidden: 'Ask the owner for the right. The owner can find the deciding rule with `?explain=`.',
  approval_required: 'Show `approval_url` to the owner. Repeat the same call after the approval.',
  approval_denied: 'Do not repeat the call: the denial applies for 15 minutes.',
  forged_request: 'Send the request from a page of the service, or authenticate without cookies.',
  not_found: 'Check the path.',
  actor_not_found: 'Check the id of the actor. The actor may have been deleted.',
  method_not_allowed: 'Use a method that `Allow` names.',
  conflict: 'Read the current state, then decide whether the change still applies.',
  not_connected: 'Ask the owner to connect the third-party service.',
  no_address: 'Ask the owner to sign in with an email address, or to open the link that verifies it.',
  actor_exists: 'Use another email address, or sign in with a provider that verifies this one.',
  creation_closed: 'Sign in at `/login`. The operator can open creation with `TROUPE_OPEN_CREATION=1`.',
  creator_exists: 'Use the existing actor of the creator.',
  migration_failed:
    'The log has the reason. The developer corrects `migrate` of the declaration that the message names.',
  value_corrupted: 'The operator runs `troupe doctor deep` and restores the value from a backup.',
  list_corrupted: 'The operator runs `troupe doctor deep` and restores the list from a backup.',
  gone: 'Request a new link, and open it before it expires.',
  answer_not_kept: 'Do not repeat the call: it already ran. `first_status` and `Location` describe the first response.',
  precondition_failed: 'Read the current version and its `ETag`, then decide whether the change still applies.',
  payload_too_large:
    'Send less, or several requests. `TROUPE_MAX_BODY_BYTES` is the limit. The message names the limit of files, names and items.',
  range_not_satisfiable: 'Request a range within the size that `Content-Range` names.',
  secret_lost:
    'The owner sets the secret again: a new connection, webhook secret or sign-in. The operator adds the key that encrypted it, or runs `troupe actors renew-passphrase` for a passphrase.',
  file_missing: 'The operator restores the storage for files from a backup, or the owner stores the file again.',
  quota_exceeded:
    'Delete what `message` names, or ask the operator to raise the limit. `quota`, `limit` and `used` in the body say which one.',
  insufficient_storage: 'Retry later. The operator frees space in the storage for files.',
  uri_too_long: 'Shorten the URL.',
  key_reused: 'Use a new `Idempotency-Key` for each different request.',
  unsupported_media_type: 'Send a content type that the API page lists for the route.',
  headers_too_large: 'Send fewer or smaller header fields.',
  peer_refused:
    'The relationship with the peer does not permit the call, or the peer does not accept its content. The status is that of the peer.',
  peer_failed: 'Retry later. The log of the service has the reason.',
  request_timeout: 'Send the request faster, or in smaller parts.',
  too_many_requests: 'Retry after the number of seconds in `Retry-After`.',
  server_error: 'The operator looks up `X-Request-ID` in the log.',
  not_implemented: 'Use a supported HTTP method and transfer coding.',
  service_failed: 'Retry later. The third-party service failed.',
  provider_failed: 'Sign in again later. The log names the failure of the provider.',
  unknown_kind: 'The operator starts a release that declares the kind (`App.kind`), or deletes the actor.',
  newer_data: 'Retry: another process may run the newer release. Otherwise the operator starts that release again.',
  store_unavailable: 'Retry after a moment. The operator checks the database.',
  mail_unavailable: 'Set a mail server: `TROUPE_SMTP_URL` and `TROUPE_MAIL_FROM`.',
  unavailable: 'Retry after a moment.',
  shutting_down: 'Retry. Another process, or the restarted one, serves the request.',
}

export function errorPage(note: string): string {
  const rows = Object.entries(catalogue)
    .toSorted(([a, one], [b, other]) => one.status - other.status || (a < b ? -1 : 1))
    .map(([code, { status, text }]) => `| \`${code}\` | ${status} | ${text} | ${advice[code as ErrorCode]} |`)
  return `${note}
# Errors

An error response has the status of its code and a JSON body:

\`\`\`json
{ "error": "not_found", "message": "Not found" }
\`\`\`

- \`error\` is a code of the table. Programs compare the code; the message is for people and may change.
- Some errors have more members, such as \`field\` or \`approval_url\`. Some have \`Retry-After\`.
- Browsers that prefer HTML receive a page with the same status.
- Every response has \`X-Request-ID\`. Log lines of the request have the same id.

Some endpoints use another format, which their clients expect:

| Endpoints | Format |
|---|---|
| \`/oauth/spa/…\`, \`/oauth/session\`, \`/oauth/revoke\` | \`{"error": true, "status_code": 401, "message": "…"}\` |
| \`/oauth/authorize\`, \`/oauth/token\`, \`/oauth/register\`; \`/mcp\` without a valid token | \`{"error": "invalid_grant", "error_description": "…"}\` (RFC 6749, RFC 7591) |
| \`/mcp\`, with a valid token | JSON-RPC: \`{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "…"}}\` |

An application throws \`new ServiceError('not_found', 'Cannot find loan 7')\` to refuse a call with a code of the table. Any other error of a handler is \`server_error\`, and only the log has its cause.

## Codes

| Code | Status | Meaning | What to do |
|---|---|---|---|
${rows.join('\n')}
`
}
