/** The proxy before the service: the public address, forged headers, rate limits. */
import { randomInt } from 'node:crypto'
import { fine, type Finding, problem, warning } from './finding.ts'
import { objectIn, type Probe } from './probe.ts'

const forged = 'stranger.example'

export async function proxyFindings(probe: Probe): Promise<Finding[]> {
  return [...(await issuer(probe)), ...(await senders(probe)), ...(await forgedHost(probe)), ...(await limits(probe))]
}

async function issuer(probe: Probe): Promise<Finding[]> {
  const metadata = objectIn(await probe.send('/.well-known/oauth-authorization-server'))
  const said = metadata['issuer']
  if (typeof said !== 'string') {
    return [
      problem(
        'address',
        'Another service answers here, or the proxy does not pass /.well-known on.',
        'Correct the address, or the paths that the proxy passes on.',
      ),
    ]
  }
  return [
    said === probe.url
      ? fine('address', 'BASE_URL is the address by which you came.')
      : problem(
          'address',
          `BASE_URL is ${said}: sign-ins, links and peers use that address.`,
          `Set BASE_URL=${probe.url}, or ask that address.`,
        ),
  ]
}

/** The request names no sender, so only a proxy adds one. */
async function senders(probe: Probe): Promise<Finding[]> {
  if (!(await ignoresSenders(probe))) return []
  return [
    problem(
      'senders',
      'A proxy names the senders of requests, but the service does not read it: TROUPE_TRUSTED_PROXIES is 0.',
      'Set TROUPE_TRUSTED_PROXIES to the number of proxies before the service.',
    ),
  ]
}

/** Whether the service has a header with the sender, and trusts no proxy. */
async function ignoresSenders(probe: Probe, headers: Readonly<Record<string, string>> = {}): Promise<boolean> {
  return objectIn(await probe.send('/health/live', { headers }))['forwarded'] === 'ignored'
}

/** A service that believes these headers sends people and tokens to the host of an attacker. */
async function forgedHost(probe: Probe): Promise<Finding[]> {
  const headers = {
    'x-forwarded-host': forged,
    'x-forwarded-proto': 'http',
    'x-original-host': forged,
    'x-host': forged,
    forwarded: `host=${forged};proto=http`,
  }
  const believed: string[] = []
  for (const path of ['/', '/login', '/.well-known/oauth-authorization-server', '/openapi.json']) {
    const answer = await probe.send(path, { headers })
    const places = [answer.headers.get('location') ?? '', answer.body]
    if (places.some((text) => text.includes(forged))) believed.push(path)
  }
  return [
    believed.length === 0
      ? fine('forwarded', 'Forged forwarding headers change no address.')
      : problem(
          'forwarded',
          `${believed.join(', ')} use the host of a forged forwarding header.`,
          'Let the proxy overwrite forwarding headers, and remove rewriting of links from it.',
        ),
  ]
}

/** More than the limit of authorization requests of one sender in a minute. */
const maxRequests = 90
const limited = '/oauth/authorize?client_id=troupe-doctor'

/** Requests until the service limits this sender, and then one that claims to come from another address. */
async function limits(probe: Probe): Promise<Finding[]> {
  // Without a trusted proxy, a named sender has its own limit within a larger one of the connection.
  const isIgnored = await ignoresSenders(probe, otherSender())
  let sent = 0
  let isLimited = false
  for (; sent < maxRequests && !isLimited; sent++) isLimited = (await probe.send(limited)).status === 429
  if (!isLimited) {
    return [
      warning(
        'limits',
        `${sent} requests for an authorization within a short time were not limited.`,
        'Remove *=off from TROUPE_RATE_LIMITS. In development, the limits are 100 times as high.',
      ),
    ]
  }
  const escapes: string[] = []
  for (const [name, value] of Object.entries(otherSender())) {
    if (isIgnored && forwarding.has(name)) continue
    if (await escapesBy(probe, { [name]: value })) escapes.push(name)
  }
  return [
    escapes.length === 0
      ? fine('limits', `Requests are limited after ${sent}, and no header claims another sender.`)
      : problem(
          'limits',
          `Senders escape the rate limits with ${escapes.join(', ')}: the service believes the address in it.`,
          'Set TROUPE_TRUSTED_PROXIES to the number of your proxies, and let the first one overwrite the header.',
        ),
  ]
}

/** A slow connection gives a limited sender a request back, so only the third success counts. */
async function escapesBy(probe: Probe, headers: Readonly<Record<string, string>>): Promise<boolean> {
  for (let tries = 0; tries < 3; tries += 1) {
    const { status } = await probe.send(limited, { headers })
    // A failure of the proxy or the service says nothing about the limit.
    if (status === 429 || status >= 500) return false
    for (let sent = 0; sent < maxRequests; sent += 1) if ((await probe.send(limited)).status === 429) break
  }
  return true
}

const forwarding: ReadonlySet<string> = new Set(['x-forwarded-for', 'forwarded'])

function otherSender(): Readonly<Record<string, string>> {
  const address = `203.0.113.${randomInt(1, 255)}`
  return {
    'x-forwarded-for': address,
    forwarded: `for=${address}`,
    'x-real-ip': address,
    'true-client-ip': address,
    'cf-connecting-ip': address,
  }
}
