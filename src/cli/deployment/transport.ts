/** TLS, the way from plain HTTP, and the clock. */
import { connect, type TLSSocket } from 'node:tls'
import { isIP } from 'node:net'
import { fine, type Finding, problem, warning } from './finding.ts'
import type { Probe } from './probe.ts'

const dayMs = 86_400_000
/** A certificate that ends sooner has probably no renewal. */
const leastDays = 14
const halfYear = 15_552_000
/** Signatures, tokens and passkeys allow little more. */
const maxSkewMs = 30_000
const longestWaitMs = 10_000

export async function transportFindings(probe: Probe): Promise<Finding[]> {
  if (!probe.isSecure) {
    return [
      problem(
        'tls',
        'The address is plain HTTP: passphrases and tokens can be read on the way.',
        'Let a proxy terminate TLS, and set BASE_URL to the https address.',
      ),
    ]
  }
  return [...(await certificate(probe)), ...(await strictTransport(probe)), ...(await plainHttp(probe))]
}

async function certificate({ url }: Probe): Promise<Finding[]> {
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const socket = connect({
    host,
    port: port === '' ? 443 : Number(port),
    ...(isIP(host) === 0 ? { servername: host } : {}),
  })
  socket.setTimeout(longestWaitMs, () => socket.destroy(new Error('no answer came')))
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve)
      socket.once('error', reject)
    })
    return [protocolOf(socket), endOf(socket)]
  } finally {
    socket.destroy()
  }
}

function protocolOf(socket: TLSSocket): Finding {
  const protocol = socket.getProtocol() ?? 'unknown'
  return protocol === 'TLSv1.3' || protocol === 'TLSv1.2'
    ? fine('tls', `Connections use ${protocol}, and the certificate is valid for the name.`)
    : problem('tls', `Connections use ${protocol}.`, 'Allow TLS 1.2 and 1.3 in the proxy, and nothing older.')
}

function endOf(socket: TLSSocket): Finding {
  const { valid_to: end } = socket.getPeerCertificate()
  const days = Math.floor((Date.parse(end) - Date.now()) / dayMs)
  return days >= leastDays
    ? fine('certificate', `The certificate is valid for ${days} more days.`)
    : warning('certificate', `The certificate ends in ${days} days.`, 'Check its automatic renewal.')
}

async function strictTransport(probe: Probe): Promise<Finding[]> {
  const { headers } = await probe.send('/health/live')
  const age = Number(/max-age="?(\d+)/i.exec(headers.get('strict-transport-security') ?? '')?.[1] ?? 0)
  return [
    age >= halfYear
      ? fine('hsts', 'Browsers remember to use https.')
      : problem(
          'hsts',
          age === 0
            ? 'Strict-Transport-Security is missing: a first visit by http can be intercepted each time.'
            : `Strict-Transport-Security holds for ${age} seconds only.`,
          'Set BASE_URL to the https address, and let the proxy pass the header on.',
        ),
  ]
}

async function plainHttp({ url }: Probe): Promise<Finding[]> {
  const { hostname, port } = new URL(url)
  // Another port has no counterpart for plain HTTP.
  if (port !== '') return []
  try {
    const answer = await fetch(`http://${hostname}/health/live`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(longestWaitMs),
    })
    await answer.body?.cancel()
    const location = answer.headers.get('location') ?? ''
    if (location.startsWith(`https://${hostname}`)) return [fine('http', 'Plain HTTP leads to https.')]
    return [
      problem(
        'http',
        `Plain HTTP answers ${answer.status} at port 80, so credentials may travel unencrypted.`,
        'Let the proxy redirect port 80 to https, or close the port.',
      ),
    ]
  } catch {
    return [fine('http', 'Plain HTTP does not answer at port 80.')]
  }
}

export async function clockFindings(probe: Probe): Promise<Finding[]> {
  const before = Date.now()
  const { headers } = await probe.send('/health/live')
  const after = Date.now()
  const date = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(date)) return []
  // The header has whole seconds.
  const skew = date > after ? date - after : Math.max(0, before - date - 1000)
  return [
    skew <= maxSkewMs
      ? fine('clock', 'Its clock agrees with the clock of this machine.')
      : warning(
          'clock',
          `Its clock differs from the clock of this machine by ${Math.round(skew / 1000)} seconds.`,
          'Synchronize both clocks by NTP: sign-ins and tokens depend on them.',
        ),
  ]
}
