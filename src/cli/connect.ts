/** `troupe connect`: gets tokens for the actor of the person at this command line, who agrees in a browser (RFC 8628). */
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { release } from '../release.ts'
import { printable, printJson, printText } from './output.ts'
import { isPrivateWay } from './private-way.ts'
import { UsageError } from './usage-error.ts'

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'
const requestMs = 10_000
const longestAnswer = 65_536

type Json = Readonly<Record<string, unknown>>

/** Prints the tokens as JSON to standard output, and everything else to standard error. */
export async function connectCommandLine(args: readonly string[]): Promise<number> {
  const [address, ...more] = args
  const url = address === undefined || more.length > 0 ? null : URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(
      'Cannot connect: expected the URL of a service, as in troupe connect https://notes.example.com',
    )
  requirePrivateWay(url)
  const issuer = `${url.origin}${url.pathname.replace(/\/$/, '')}`
  const metadata = await ask(`${url.origin}/.well-known/oauth-authorization-server${url.pathname.replace(/\/$/, '')}`)
  const at = (name: string): string => {
    const endpoint = textIn(metadata, name, `${issuer} offers no connection of devices`)
    if (metadata['issuer'] !== issuer)
      throw new UsageError(`Cannot connect: ${issuer} names another service as its own.`)
    requirePrivateWay(URL.parse(endpoint))
    return endpoint
  }
  const client = await ask(at('registration_endpoint'), {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: `Command line on ${hostname()}`,
      token_endpoint_auth_method: 'none',
      grant_types: [grantType, 'refresh_token'],
      software_id: 'troupe',
      software_version: release,
    }),
  })
  const clientId = textIn(client, 'client_id', 'The service registered no client')
  const codes = await ask(at('device_authorization_endpoint'), form({ client_id: clientId }))
  await show(codes)
  const tokens = await pollUntilDecided(at('token_endpoint'), clientId, codes)
  printJson({ service: issuer, token_endpoint: at('token_endpoint'), client_id: clientId, ...tokens })
  return 0
}

/** @throws UsageError for an address at which others could read the tokens. */
function requirePrivateWay(url: URL | null): void {
  if (url === null || !isPrivateWay(url))
    throw new UsageError(
      `Cannot connect: ${printable(url?.origin ?? 'an address of the service')} is plain HTTP, where others can read the tokens. Use the https URL.`,
    )
}

async function show(codes: Json): Promise<void> {
  const { renderUnicodeCompact } = await import('uqr')
  const page = textIn(codes, 'verification_uri', 'The service named no page')
  const code = textIn(codes, 'user_code', 'The service named no code')
  const complete = codes['verification_uri_complete']
  const target = typeof complete === 'string' ? complete : page
  printText(
    `\nOpen ${printable(page)} and enter the code ${printable(code)}\nor scan this with a phone:\n\n${renderUnicodeCompact(target)}\n\nWaiting…\n`,
    process.stderr,
  )
}

/** @throws UsageError when the person denied it, or the code has expired. */
async function pollUntilDecided(endpoint: string, clientId: string, codes: Json): Promise<Json> {
  const body = form({
    grant_type: grantType,
    client_id: clientId,
    device_code: textIn(codes, 'device_code', 'The service sent no device code'),
  })
  let seconds = typeof codes['interval'] === 'number' ? codes['interval'] : 5
  for (;;) {
    await sleep(seconds * 1000)
    const { status, answer } = await send(endpoint, body)
    if (status === 200) return answer
    // RFC 8628 section 3.5: the interval grows by five seconds.
    if (answer['error'] === 'slow_down') seconds += 5
    else if (answer['error'] !== 'authorization_pending') throw failure(endpoint, status, answer)
  }
}

function form(fields: Readonly<Record<string, string>>): RequestInit {
  return { body: new URLSearchParams(fields) }
}

/** @throws UsageError for every response but a success. */
async function ask(address: string, request?: RequestInit): Promise<Json> {
  const { status, answer } = await send(address, request)
  if (status < 200 || status > 299) throw failure(address, status, answer)
  return answer
}

async function send(
  address: string,
  request?: RequestInit,
): Promise<{ readonly status: number; readonly answer: Json }> {
  try {
    const response = await fetch(address, {
      ...(request === undefined ? {} : { method: 'POST', ...request }),
      redirect: 'manual',
      signal: AbortSignal.timeout(requestMs),
    })
    const text = await response.text()
    const parsed: unknown = text.length > longestAnswer ? null : JSON.parse(text)
    if (typeof parsed !== 'object' || parsed === null) throw new SyntaxError('The response is not a JSON object')
    return { status: response.status, answer: parsed as Json }
  } catch (error) {
    if (error instanceof SyntaxError) throw new UsageError(`Cannot connect: ${address} is not a service of Troupe.`)
    throw new UsageError(`Cannot connect: ${address} cannot be reached.`)
  }
}

function failure(address: string, status: number, answer: Json): UsageError {
  const { error_description: description, message, error } = answer
  const said = [description, message, error].find((text) => typeof text === 'string')
  return new UsageError(
    `Cannot connect: ${printable(typeof said === 'string' ? said : `${address} answered ${status}`)}.`,
  )
}

function textIn(answer: Json, name: string, otherwise: string): string {
  const value = answer[name]
  if (typeof value !== 'string') throw new UsageError(`Cannot connect: ${otherwise}.`)
  return value
}
