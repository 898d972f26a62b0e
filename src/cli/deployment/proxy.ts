/** The proxy before the service: the public address, forged headers, rate limits. */
import { randomInt } from 'node:crypto'
import { fine, type Finding, problem, warning } from './finding.ts'
import { objectIn, type Probe } from './probe.ts'

const forged = 'stranger.example'

export async function proxyFindings(probe: Probe): Promise<Finding[]> {
  return [...(await issuer(probe)), ...(await forgedHost(probe)), ...(await limits(probe))]
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
const mostRequests = 90
const limited = '/oauth/authorize?client_id=troupe-doctor'

/** Requests until the service limits this sender, and then one that claims to come from another address. */
async function limits(probe: Probe): Promise<Finding[]> {
  let sent = 0
  let isLimited = false
  for (; sent < mostRequests && !isLimited; sent++) isLimited = (await probe.send(limited)).status === 429
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
    const { status } = await probe.send(limited, { headers: { [name]: value } })
    if (status !== 429) escapes.push(name)
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
