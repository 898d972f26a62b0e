/** Looks for what every visitor can reach: addresses for operators, creation of actors, headers of pages, other origins. */
import { release } from '../../release.ts'
import { fine, type Finding, problem, warning } from './finding.ts'
import { objectIn, type Probe } from './probe.ts'

const stranger = 'https://stranger.example'

export async function exposureFindings(probe: Probe): Promise<Finding[]> {
  return [
    ...(await version(probe)),
    ...(await operatorAddresses(probe)),
    ...(await creation(probe)),
    ...(await pageHeaders(probe)),
    ...(await crossOrigin(probe)),
    ...(await redirects(probe)),
  ]
}

async function version(probe: Probe): Promise<Finding[]> {
  const { info } = objectIn(await probe.send('/openapi.json')) as { info?: { version?: unknown } }
  const found = info?.version
  if (typeof found !== 'string') return []
  return [
    found === release
      ? fine('release', `It runs release ${found}, like this command.`)
      : warning(
          'release',
          `It runs release ${found}, and this command is of ${release}.`,
          'Upgrade the older one: releases repair security defects.',
        ),
  ]
}

async function operatorAddresses(probe: Probe): Promise<Finding[]> {
  const found: Finding[] = []
  const metrics = await probe.send('/metrics')
  found.push(
    metrics.status === 200 && metrics.body.includes('# TYPE')
      ? problem(
          'metrics',
          'Everyone can read /metrics.',
          'Run release 0.2 or later with troupe serve: /metrics is open in development only. Until then, let the proxy refuse /metrics, or set TROUPE_METRICS_TOKEN.',
        )
      : fine('metrics', 'Strangers cannot read /metrics.'),
  )
  const login = await probe.send('/login', { headers: { accept: 'text/html' } })
  const isDevelopment = login.body.includes('/oauth/login/local')
  found.push(
    isDevelopment
      ? problem(
          'mode',
          'It runs in development mode: people sign in without a password, and test endpoints are open.',
          'Run it with troupe serve.',
        )
      : fine('mode', 'It does not run in development mode.'),
  )
  return found
}

/** The body creates no actor: its creator is too long, unless creation is closed to everyone. */
async function creation(probe: Probe): Promise<Finding[]> {
  const answer = await probe.send('/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ creator: 'x'.repeat(600) }),
  })
  const { error } = objectIn(answer)
  if (error === 'creation_closed') return [fine('creation', 'Actors are created by a sign-in or the application only.')]
  return [
    warning(
      'creation',
      'Everyone can create actors with POST /, under any name that is free.',
      'Set TROUPE_OPEN_CREATION=0, unless programs or other services create actors here.',
    ),
  ]
}

async function pageHeaders(probe: Probe): Promise<Finding[]> {
  const { headers, status } = await probe.send('/login', { headers: { accept: 'text/html' } })
  if (!(headers.get('content-type') ?? '').startsWith('text/html') || status >= 500) return []
  const policy = headers.get('content-security-policy') ?? ''
  const wrong = [
    ...(policy === '' ? ['Content-Security-Policy is missing'] : []),
    ...(/unsafe-(inline|eval)/.test(policy) ? ['Content-Security-Policy allows inline scripts or styles'] : []),
    ...(policy.includes("frame-ancestors 'none'") || headers.has('x-frame-options')
      ? []
      : ['other sites may frame it']),
    ...(headers.get('x-content-type-options') === 'nosniff' ? [] : ['X-Content-Type-Options is missing']),
    ...(headers.has('referrer-policy') ? [] : ['Referrer-Policy is missing, so addresses leak to other sites']),
  ]
  const cached = /public|max-age=[1-9]/.test(headers.get('cache-control') ?? '')
  return [
    wrong.length === 0
      ? fine('headers', 'Pages have the headers that protect them.')
      : problem(
          'headers',
          `The sign-in page: ${wrong.join('; ')}.`,
          'Let the proxy pass the headers of the service on, and remove its own.',
        ),
    ...(cached
      ? [
          problem(
            'cache',
            'The sign-in page may be cached by others.',
            'Remove caching of pages from the proxy or the CDN.',
          ),
        ]
      : []),
    // Over http, cookies are not Secure in development, and the check of the transport names the cause.
    ...(probe.isSecure ? cookies(headers.getSetCookie()) : []),
  ]
}

function cookies(lines: readonly string[]): Finding[] {
  const weak = lines.filter(
    (line) => !/; *secure/i.test(line) || !/; *samesite=/i.test(line) || !/; *httponly/i.test(line),
  )
  if (lines.length === 0) return []
  const names = weak.map((line) => line.split('=', 1)[0] ?? '')
  return [
    weak.length === 0
      ? fine('cookies', 'Its cookies are Secure, HttpOnly and SameSite.')
      : problem(
          'cookies',
          `The cookie ${names.join(', ')} is not Secure, HttpOnly and SameSite.`,
          'Let the proxy pass Set-Cookie on unchanged, and set no cookies of its own.',
        ),
  ]
}

async function crossOrigin(probe: Probe): Promise<Finding[]> {
  const open: string[] = []
  for (const path of ['/', '/login', '/doctor/properties', '/oauth/spa/token', '/mcp']) {
    const { headers } = await probe.send(path, { headers: { origin: stranger } })
    const allowed = headers.get('access-control-allow-origin')
    const isTrusted = headers.get('access-control-allow-credentials') === 'true'
    if (isTrusted && (allowed === stranger || allowed === '*')) open.push(path)
  }
  return [
    open.length === 0
      ? fine('cors', 'Pages of other sites cannot use the sign-in of a visitor.')
      : problem(
          'cors',
          `${open.join(', ')} trust every other site with the cookies of a visitor.`,
          'Remove CORS headers from the proxy. TROUPE_SPA_ORIGINS names the sites of single-page applications.',
        ),
  ]
}

const redirecting = ['/login?redirect=', '/login?redirect_to=', '/?redirect_uri=', '/?next='] as const

/** Neither an address nor one that only browsers read as another host may be the target of a redirect. */
async function redirects(probe: Probe): Promise<Finding[]> {
  const open: string[] = []
  for (const path of redirecting) {
    for (const target of [`${stranger}/`, '//stranger.example/', '/\\stranger.example/', 'https:stranger.example']) {
      const { headers } = await probe.send(`${path}${encodeURIComponent(target)}`)
      const location = headers.get('location')
      if (location !== null && URL.parse(location, probe.url)?.hostname.endsWith('stranger.example') === true)
        open.push(path)
    }
  }
  return [
    open.length === 0
      ? fine('redirects', 'No tried redirect leads to another site.')
      : problem(
          'redirects',
          `${[...new Set(open)].join(', ')} redirects to every other site.`,
          'Remove redirects with a parameter from the proxy.',
        ),
  ]
}
