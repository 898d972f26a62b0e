/** Whether the public address of the service leads to a process with its keys, as peers and browsers reach it. */
import { provesIdentity } from '../secret/identity-proof.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomToken } from '../secret/random.ts'
import { bytesOf } from './short-body.ts'

const path = '/health/live'
const longestAnswer = 65_536

export interface AddressCheck {
  readonly keyRing: KeyRing
  /** `BASE_URL` of the service, when a former address is asked. Default: the address. */
  readonly provenUrl?: string
  /** Milliseconds for the connection and the complete response. Default: 10,000. */
  readonly timeoutMs?: number
}

/** The reason why the address does not lead to this service, with the remedy, in one or two sentences. Null: it does. */
export async function addressProblem(
  baseUrl: string,
  { keyRing, provenUrl = baseUrl, timeoutMs = 10_000 }: AddressCheck,
): Promise<string | null> {
  const challenge = randomToken(32)
  const at = `${baseUrl}${path}`
  let answer: Response
  let body: string
  try {
    answer = await fetch(`${at}?challenge=${challenge}`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      headers: { accept: 'application/json' },
    })
    body = (await bytesOf(answer, longestAnswer)).toString('utf8')
  } catch (error) {
    return `Cannot reach ${baseUrl}: ${connectionProblem(error, new URL(baseUrl), timeoutMs)}`
  }
  const { status } = answer
  if (status >= 300 && status < 400)
    return `${at} redirects to ${answer.headers.get('location') ?? 'no address'}: set BASE_URL to the final address, or remove the redirect. Peers do not follow it.`
  if (status === 502 || status === 503 || status === 504)
    return `A proxy answers at ${baseUrl} with ${status}, but does not reach the service: start the service, or correct the proxy.`
  const proof = status === 200 ? proofIn(body) : null
  if (proof === null)
    return `Another service answers at ${baseUrl}: ${path} returned ${status} instead of the state of this service. Correct BASE_URL, or the path that the proxy passes on.`
  return provesIdentity(keyRing, { challenge, baseUrl: provenUrl }, proof)
    ? null
    : `Another Troupe service answers at ${baseUrl}: it has other keys, or another BASE_URL. Correct BASE_URL, or run this command with its TROUPE_SECRET_KEYS.`
}

/** The proof in the answer of a Troupe service; null in every other answer. */
function proofIn(body: string): string | null {
  try {
    const value: unknown = JSON.parse(body)
    const { status, proof } = Object(value) as { status?: unknown; proof?: unknown }
    return status === 'live' && typeof proof === 'string' ? proof : null
  } catch {
    return null
  }
}

type Sentence = (url: URL) => string

const noRoute: Sentence = ({ host }) => `this machine has no route to ${host}. Check its network, or the DNS record.`

/** The cause and the remedy for errors of the connection, by their code. */
const sentences: Readonly<Record<string, Sentence>> = {
  ENOTFOUND: ({ hostname }) => `the name ${hostname} does not exist in DNS. Create its record, or correct BASE_URL.`,
  EAI_AGAIN: ({ hostname }) =>
    `the DNS server of this machine did not answer for ${hostname}. Check the network of this machine.`,
  ECONNREFUSED: ({ host }) =>
    `nothing accepts connections at ${host}. Start the service and its proxy, or correct BASE_URL.`,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
}
const timeouts: ReadonlySet<unknown> = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'])

/** The cause of a failed request, and its remedy, as the end of a sentence. */
export function connectionProblem(error: unknown, url: URL, timeoutMs: number): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error
  const { code, name, message } = Object(cause) as { code?: unknown; name?: unknown; message?: unknown }
  if (name === 'TimeoutError' || timeouts.has(code))
    return `no answer came within ${timeoutMs / 1000} seconds. Allow connections to ${url.host} in the firewall, or correct BASE_URL.`
  const detail = typeof code === 'string' ? code : String(message)
  const sentence = Object.hasOwn(sentences, detail) ? sentences[detail] : undefined
  return sentence?.(url) ?? (url.protocol === 'https:' ? tlsProblem(detail, url) : null) ?? failed(detail)
}

function tlsProblem(code: string, { host, hostname }: URL): string | null {
  if (/^(?:EPROTO|ERR_SSL_)/.test(code))
    return `no TLS connection is possible at ${host} (${code}). Let the proxy terminate TLS there, or correct BASE_URL.`
  if (/SELF_SIGNED|UNABLE_TO/.test(code))
    return `this machine does not trust the authority of its TLS certificate (${code}). Install a certificate that browsers accept, or name the file of your authority in NODE_EXTRA_CA_CERTS.`
  return /CERT|SIGNATURE/.test(code)
    ? `its TLS certificate is not valid for ${hostname} (${code}). Install a certificate that browsers accept.`
    : null
}

function failed(detail: string): string {
  return `the connection failed (${detail}). Check the proxy before the service, or correct BASE_URL.`
}
