/**
 * Every option of the service, with its unit, default and meaning: the one list from which the environment is read,
 * code is checked and `docs/configuration.md` is written.
 */
export type Mode = 'development' | 'production'

export interface Option<T> {
  readonly env: string
  /** Turns the text of the environment into a value; throws an Error whose message completes "<NAME> …". */
  readonly parse: (text: string) => T
  /** Checks a value given in code; throws in the same way. */
  readonly check: (value: unknown) => T
  readonly byDefault: T | ((mode: Mode) => T)
  readonly values: string
  readonly text: string
  /** The default in words, where the value itself would not tell. */
  readonly defaultText?: string
  readonly secret?: boolean
  /** An empty text in the environment is a value, not the absence of one. */
  readonly readsEmpty?: boolean
}

interface About<T> {
  readonly env: string
  readonly byDefault: T | ((mode: Mode) => T)
  readonly text: string
  readonly values?: string
  readonly defaultText?: string
  readonly secret?: boolean
}

function option<T>(
  about: About<T>,
  values: string,
  read: (value: unknown) => T,
  parse?: (text: string) => T,
): Option<T> {
  return { values, ...about, check: read, parse: parse ?? ((text) => read(text)) }
}

function integer(about: About<number> & { min: number; max: number; unit?: string }): Option<number> {
  const values = `whole number from ${about.min} to ${about.max}${about.unit === undefined ? '' : `, in ${about.unit}`}`
  const read = (value: unknown): number => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < about.min || value > about.max) {
      throw new Error(`must be a ${values}`)
    }
    return value
  }
  return option(about, values, read, (text) => read(/^-?\d+$/.test(text.trim()) ? Number(text) : Number.NaN))
}

function flag(about: About<boolean>): Option<boolean> {
  const values = '1 or 0 (also true, false, on, off, yes, no)'
  return option(
    about,
    values,
    (value) => {
      if (typeof value !== 'boolean') throw new Error('must be true or false')
      return value
    },
    (text) => {
      const word = text.trim().toLowerCase()
      if (['1', 'true', 'on', 'yes'].includes(word)) return true
      if (['0', 'false', 'off', 'no'].includes(word)) return false
      throw new Error(`must be ${values}`)
    },
  )
}

function choice<const C extends string>(about: About<C> & { choices: readonly C[] }): Option<C> {
  const values = about.choices.join(', ')
  return option(about, values, (value) => {
    const found = about.choices.find((name) => name === value)
    if (found === undefined) throw new Error(`must be one of ${values}`)
    return found
  })
}

function text<T extends string | null>(
  about: About<T>,
  check: (value: string) => string | null = () => null,
): Option<T> {
  return option(about, 'text', (value) => {
    if (value === null && about.byDefault === null) return value as T
    if (typeof value !== 'string') throw new Error('must be a text')
    const complaint = check(value)
    if (complaint !== null) throw new Error(complaint)
    return value as T
  })
}

function words(about: About<readonly string[]>): Option<readonly string[]> {
  const read = (value: unknown): readonly string[] => {
    const isNames = Array.isArray(value) && value.every((word: unknown) => typeof word === 'string' && word !== '')
    if (!isNames) throw new Error('must be a list of names')
    return [...(value as readonly string[])]
  }
  const split = (list: string): string[] =>
    list
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== '')
  return {
    ...option(about, 'names separated by commas; empty for none', read, (list) => read(split(list))),
    readsEmpty: true,
  }
}

/** Scheme, host and port, as browsers write them in `Origin`. */
function origins(about: About<readonly string[]>): Option<readonly string[]> {
  const list = words(about)
  const check = (names: readonly string[]): readonly string[] => {
    for (const name of names) {
      const url = URL.parse(name)
      // Custom schemes of native applications have an opaque origin; there the text itself is compared.
      const isOrigin =
        url !== null && (url.origin === 'null' ? /^[a-z][a-z0-9+.-]*:\/\/[^/?#@]*$/.test(name) : url.origin === name)
      if (!isOrigin)
        throw new Error(`must be origins such as https://app.example.com, which ${JSON.stringify(name)} is not`)
    }
    return names
  }
  return {
    ...list,
    values: 'origins (scheme, host and port) separated by commas; empty for none',
    check: (value) => check(list.check(value)),
    parse: (text) => check(list.parse(text)),
  }
}

/** So many at once, and as many again in each span of time. */
export interface GivenRate {
  readonly count: number
  readonly seconds: number
}

/** By the name of the limiter; null turns it off. */
export type GivenRates = Readonly<Record<string, GivenRate | null>>

function rates(about: About<GivenRates>): Option<GivenRates> {
  const values = '`<limiter>=<count>/<seconds>` or `<limiter>=off`, separated by commas'
  const wrong = new Error(`must be ${values}, with a count up to 1000000 and at most 31 days`)
  const isWhole = (value: unknown, max: number): boolean =>
    typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max
  const check = (given: unknown): GivenRates => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) throw wrong
    for (const rate of Object.values(given as Record<string, Partial<GivenRate> | null | undefined>)) {
      if (rate === null) continue
      if (rate === undefined || !isWhole(rate.count, 1_000_000) || !isWhole(rate.seconds, 31 * 86_400)) throw wrong
    }
    return { ...(given as GivenRates) }
  }
  const parse = (list: string): GivenRates => {
    const entries = list
      .split(',')
      .filter((entry) => entry.trim() !== '')
      .map((entry) => {
        const [, name = '', count, seconds] = /^\s*([\w/]+|\*)\s*=\s*(?:off|(\d+)\/(\d+))\s*$/.exec(entry) ?? []
        if (name === '') throw wrong
        return [name, count === undefined ? null : { count: Number(count), seconds: Number(seconds) }] as const
      })
    return check(Object.fromEntries(entries))
  }
  return { values, ...about, check, parse }
}

/** Seconds to connect to a peer, and for its answer; one number stands for both. */
export type GivenTimeouts = number | readonly [connect: number, read: number]

const mostTimeouts = [120, 600] as const

function timeouts(about: About<GivenTimeouts | null>): Option<GivenTimeouts | null> {
  const values = `whole number from 1 to ${mostTimeouts[0]}, or two separated by a comma, the second up to ${mostTimeouts[1]}, in seconds`
  const isWithin = (value: unknown, most: number): boolean =>
    typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most
  const read = (value: unknown): GivenTimeouts | null => {
    const pair = Array.isArray(value) ? (value as unknown[]) : [value, value]
    const isValid = pair.length === 2 && isWithin(pair[0], mostTimeouts[0]) && isWithin(pair[1], mostTimeouts[1])
    if (value !== null && !isValid) throw new Error(`must be a ${values}`)
    return value as GivenTimeouts | null
  }
  const parse = (text: string): GivenTimeouts | null => {
    const numbers = text.split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN))
    return read(numbers.length === 1 ? numbers[0] : numbers)
  }
  return option(about, values, read, parse)
}

function checkBaseUrl(value: string): string | null {
  // A parser would leave them out, and every link would carry them.
  if (/[\s\p{Cc}]/u.test(value)) return 'must not hold blanks'
  const url = URL.parse(value)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return 'must be an http or https address'
  if (!/^[!-~]+$/.test(value))
    return 'must be written in ASCII: percent-encode the path, and use the xn-- form of the host'
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password'
  if (url.search !== '' || url.hash !== '') return 'must not have a query or fragment'
  return null
}

function checkApprovalUrl(value: string): string | null {
  if (!value.includes('{approval}')) return 'must hold {approval}, or the page cannot know which call it is about'
  const url = URL.parse(value.replaceAll('{approval}', 'x').replaceAll('{actor}', 'x'))
  return url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')
    ? 'must be an http or https address'
    : null
}

function checkDatabase(value: string): string | null {
  return /^(sqlite:.+|postgres(ql)?:\/\/.+)$/.test(value)
    ? null
    : 'must be sqlite:<file> or postgres://<user>@<host>/<database>'
}

export const options = {
  mode: choice<Mode>({
    env: 'TROUPE_MODE',
    choices: ['development', 'production'],
    byDefault: 'production',
    text: 'Development turns on the devtest endpoints, allows loopback peers and makes a key beside the data. `npm start` and `troupe dev` set it.',
  }),
  port: integer({
    env: 'PORT',
    min: 0,
    max: 65535,
    byDefault: 3000,
    text: 'The port to listen on; 0 takes any free one.',
  }),
  host: text<string | null>({
    env: 'HOST',
    byDefault: (mode) => (mode === 'development' ? 'localhost' : null),
    values: 'name or address',
    text: 'The address to listen on.',
    defaultText: '`localhost` (both of its addresses) in development, else every address of the machine',
  }),
  baseUrl: text<string | null>(
    {
      env: 'BASE_URL',
      byDefault: null,
      values: 'https address, with a path when the service lives under a prefix',
      text: 'The public address. Every link the service makes begins with it; the Host header is never trusted.',
      defaultText: '`http://localhost:<PORT>` in development; required in production',
    },
    checkBaseUrl,
  ),
  allowHttp: flag({
    env: 'TROUPE_ALLOW_HTTP',
    byDefault: (mode) => mode === 'development',
    text: 'Accepts a `BASE_URL` that is not https in production, and calls peers over http. Passphrases and secrets then cross the network in clear.',
    defaultText: '1 in development, else 0',
  }),
  database: text<string>(
    {
      env: 'DATABASE_URL',
      byDefault: 'sqlite:./data/troupe.db',
      values: '`sqlite:<file>` or `postgres://<user>:<password>@<host>/<database>`',
      text: 'Where everything is kept.',
      secret: true,
    },
    checkDatabase,
  ),
  synchronous: choice<'FULL' | 'NORMAL'>({
    env: 'TROUPE_SQLITE_SYNCHRONOUS',
    choices: ['FULL', 'NORMAL'],
    byDefault: 'FULL',
    text: 'FULL: an answered change survives a loss of power. NORMAL: the last moments before a loss of power may be lost, though nothing is damaged; a crash of the service alone loses nothing.',
  }),
  secretKeys: text<string | null>({
    env: 'TROUPE_SECRET_KEYS',
    byDefault: null,
    values: '`<id>:<key>` entries separated by commas, as `troupe keys new` prints them',
    text: 'Encrypts what has to be shown again (passphrases, peer secrets). The first key encrypts, all of them decrypt.',
    defaultText: 'a generated key in a file beside the data in development; required in production',
    secret: true,
  }),
  allowPrivatePeers: flag({
    env: 'TROUPE_ALLOW_PRIVATE_PEERS',
    byDefault: (mode) => mode === 'development',
    text: 'Lets calls to other actors reach loopback and private addresses.',
    defaultText: '1 in development, else 0',
  }),
  trustedProxies: integer({
    env: 'TROUPE_TRUSTED_PROXIES',
    min: 0,
    max: 16,
    byDefault: 0,
    text: 'How many proxies stand in front of the service. That many entries at the end of X-Forwarded-For are believed; with 0 the header is ignored.',
  }),
  rateLimits: rates({
    env: 'TROUPE_RATE_LIMITS',
    byDefault: {},
    text: 'Changes limiters of costly and guessable requests; [operations](operations.md#rate-limits) names them all. In code an object: `{ "create_actor/source": { count: 100, seconds: 3600 } }`, with `null` for off. `*` stands for all that are not named.',
    defaultText: 'the limiters as listed there; in development each lets a hundred times as much through',
  }),
  activityPerActor: integer({
    env: 'TROUPE_ACTIVITY_PER_ACTOR',
    min: 0,
    max: 1_000_000,
    byDefault: 10_000,
    text: 'How many entries the access ledger keeps for an actor, a tenth of them for strangers and refusals besides; 0 turns the ledger off.',
  }),
  activityDays: integer({
    env: 'TROUPE_ACTIVITY_DAYS',
    min: 1,
    max: 3650,
    unit: 'days',
    byDefault: 90,
    text: 'How long the entries are kept.',
  }),
  logLevel: choice({
    env: 'LOG_LEVEL',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    byDefault: 'info',
    text: 'The least important log lines that are still written. `debug` adds a line for each request, and one with the reason for each refusal.',
  }),
  workers: integer({
    env: 'TROUPE_WORKERS',
    min: 1,
    max: 100,
    byDefault: 10,
    text: 'How many transactions may run at once on PostgreSQL: the size of its connection pool. SQLite groups all waiting changes into one commit instead.',
  }),
  uniqueCreator: flag({
    env: 'TROUPE_UNIQUE_CREATOR',
    byDefault: false,
    text: 'One actor for one creator: creating another is refused.',
  }),
  forceEmailAsCreator: flag({
    env: 'TROUPE_FORCE_EMAIL_AS_CREATOR',
    byDefault: false,
    text: 'The creator is the e-mail address: setting the `email` property makes its value the creator.',
  }),
  indexedProperties: words({
    env: 'TROUPE_INDEXED_PROPERTIES',
    byDefault: ['oauthId', 'email', 'externalUserId'],
    text: 'The properties by whose value an actor can be found.',
  }),
  maxSessionDays: integer({
    env: 'TROUPE_MAX_SESSION_DAYS',
    min: 1,
    max: 3650,
    unit: 'days',
    byDefault: 90,
    text: 'How long somebody stays signed in on a device at most, and a client connected, however often the tokens are refreshed.',
  }),
  spaCorsOrigins: origins({
    env: 'TROUPE_SPA_CORS_ORIGINS',
    byDefault: [],
    text: 'The sites whose single-page applications may use the sign-in endpoints, with cookies too. None: any site may, without cookies.',
  }),
  localSignIn: flag({
    env: 'TROUPE_LOCAL_SIGN_IN',
    byDefault: (mode) => mode === 'development',
    text: 'Offers a sign-in that asks for no password, where no provider is configured. Refused in production.',
    defaultText: '1 in development, else 0',
  }),
  signInIdentity: choice<'email' | 'provider'>({
    env: 'TROUPE_SIGN_IN_IDENTITY',
    choices: ['email', 'provider'],
    byDefault: 'email',
    text: 'What identifies people who sign in: `email`, so that whose provider vouches for no address is asked for one; or, with `provider`, the provider’s own lasting name for such a person.',
  }),
  spaRedirectOrigins: origins({
    env: 'TROUPE_SPA_REDIRECT_ORIGINS',
    byDefault: [],
    text: 'Where browsers may be sent after a sign-in that a single-page or mobile application began, besides this service and what is configured with the providers.',
  }),
  webUi: flag({
    env: 'TROUPE_WEB_UI',
    byDefault: true,
    text: 'Serves the pages under `/<actor>/www`. Without them a signed-in browser is sent to `/<actor>/app`, which the application supplies.',
  }),
  approvalUrl: text<string | null>(
    {
      env: 'TROUPE_APPROVAL_URL',
      byDefault: null,
      values:
        'address with `{approval}` and, where it is needed, `{actor}`: `https://app.example.com/approve/{actor}/{approval}`',
      text: 'A page of the application on which owners approve calls of operations that declare `confirm`; it uses `/<actor>/approvals`. Callers receive this address.',
      defaultText: 'the page of the service; with `TROUPE_WEB_UI` off `/<actor>/approvals/<approval>`, which is JSON',
    },
    checkApprovalUrl,
  ),
  mcp: flag({
    env: 'TROUPE_MCP',
    byDefault: true,
    text: 'Serves AI clients: the Model Context Protocol at `/mcp` and the authorization server that lets them in.',
  }),
  mcpInstructions: text<string>({
    env: 'TROUPE_MCP_INSTRUCTIONS',
    byDefault: '',
    text: 'Told to AI clients when they connect: what the service is for and how to begin.',
    defaultText: 'none',
  }),
  clientTrustTypes: words({
    env: 'TROUPE_CLIENT_TRUST_TYPES',
    byDefault: ['mcp_client'],
    text: 'The kinds of relationship that an owner can give an AI client, and that a client may ask for; the first one is chosen unless the client asks for another.',
  }),
  mcpOrigins: words({
    env: 'TROUPE_MCP_ORIGINS',
    byDefault: [],
    text: 'Origins of web pages that may speak to `/mcp` besides the service’s own.',
  }),
  templates: text<string | null>({
    env: 'TROUPE_TEMPLATES',
    byDefault: null,
    values: 'path of a folder',
    text: 'Liquid templates in place of built-in pages, by the names that `docs/pages.md` gives. A template that cannot be used stops the start.',
    defaultText: 'none: the built-in pages',
  }),
  singlePage: text<string | null>({
    env: 'TROUPE_SINGLE_PAGE',
    byDefault: null,
    values: 'path of a folder',
    text: 'A single-page application: its `index.html` is what `/<actor>/app` shows, and `/login` too where `TROUPE_WEB_UI` is off. Its other files are at `/assets/<path>`; a symbolic link that leaves the folder is not served.',
    defaultText: 'none: the application that embeds the service serves them',
  }),
  devtest: flag({
    env: 'TROUPE_DEVTEST',
    byDefault: (mode) => mode === 'development',
    text: 'Serves the development and testing endpoints under `/<actor>/devtest`. Refused in production.',
    defaultText: '1 in development, else 0',
  }),
  botToken: text<string | null>({
    env: 'TROUPE_BOT_TOKEN',
    byDefault: null,
    text: 'Turns on `POST /bot` and is handed to the application’s bot handler.',
    defaultText: 'none: `/bot` answers 404',
    secret: true,
  }),
  metricsToken: text<string | null>(
    {
      env: 'TROUPE_METRICS_TOKEN',
      byDefault: null,
      values: 'text of 16 characters or more',
      text: 'When set, `/metrics` wants it as a bearer token.',
      defaultText: 'none: `/metrics` is open to whoever reaches the port',
      secret: true,
    },
    (value) => (value.length < 16 ? 'must have 16 characters or more' : null),
  ),
  maxBodyBytes: integer({
    env: 'TROUPE_MAX_BODY_BYTES',
    min: 1024,
    max: 268435456,
    unit: 'bytes',
    byDefault: 2097152,
    text: 'The largest request body; a larger one is 413.',
  }),
  maxJsonDepth: integer({
    env: 'TROUPE_MAX_JSON_DEPTH',
    min: 4,
    max: 512,
    unit: 'levels',
    byDefault: 64,
    text: 'The deepest nesting of a JSON value; a deeper one is 400.',
  }),
  requestTimeoutSeconds: integer({
    env: 'TROUPE_REQUEST_TIMEOUT_SECONDS',
    min: 1,
    max: 3600,
    unit: 'seconds',
    byDefault: 30,
    text: 'How long a request may take to arrive, headers and body.',
  }),
  shutdownSeconds: integer({
    env: 'TROUPE_SHUTDOWN_SECONDS',
    min: 0,
    max: 600,
    unit: 'seconds',
    byDefault: 10,
    text: 'How long running requests may still take after a stop signal.',
  }),
  storeTimeoutSeconds: integer({
    env: 'TROUPE_STORE_TIMEOUT_SECONDS',
    min: 1,
    max: 300,
    unit: 'seconds',
    byDefault: 5,
    text: 'How long a change waits for its turn in the database before it is refused with 503.',
  }),
  relationship: text<string>(
    {
      env: 'TROUPE_DEFAULT_RELATIONSHIP',
      byDefault: 'associate',
      values: 'name of a trust type',
      text: 'The relationship of a trust request that names none.',
    },
    (value) => (value === '' ? 'must name a trust type' : null),
  ),
  autoAcceptTrust: flag({
    env: 'TROUPE_AUTO_ACCEPT_TRUST',
    byDefault: false,
    text: 'Approves requests for the default relationship at once. Never the types that are marked as not for this.',
  }),
  maxPendingTrusts: integer({
    env: 'TROUPE_MAX_PENDING_TRUSTS',
    min: 1,
    max: 100_000,
    byDefault: 100,
    text: 'How many trust requests may wait for an owner’s approval; one more is 429. Anybody may ask.',
  }),
  maxPeerSubscriptions: integer({
    env: 'TROUPE_MAX_PEER_SUBSCRIPTIONS',
    min: 1,
    max: 10_000,
    byDefault: 100,
    text: 'How many subscriptions a peer may have to an actor; one more is 403.',
  }),
  notifyPermissions: flag({
    env: 'TROUPE_NOTIFY_PERMISSIONS',
    byDefault: true,
    text: 'Tells a peer when its rights change.',
  }),
  autoDeleteRevoked: flag({
    env: 'TROUPE_AUTO_DELETE_REVOKED',
    byDefault: true,
    text: 'Removes the copies of a peer’s data that the peer no longer grants.',
  }),
  peerProfileAttributes: words({
    env: 'TROUPE_PEER_PROFILE',
    byDefault: ['displayname', 'email', 'description'],
    text: 'The properties of a peer that are remembered as its profile; none turns profiles off.',
  }),
  capabilitiesMaxAgeSeconds: integer({
    env: 'TROUPE_PEER_CAPABILITIES_MAX_AGE_SECONDS',
    min: 0,
    max: 31_536_000,
    unit: 'seconds',
    byDefault: 3600,
    text: 'How old what is known about a peer’s methods and actions may be; 0 asks every time.',
  }),
  peerTimeoutSeconds: timeouts({
    env: 'TROUPE_PEER_TIMEOUT_SECONDS',
    byDefault: null,
    text: 'Both timeouts of calls to peers: one value, or the one to connect and the one to answer. In code a number or an array of two. The two variables below take precedence.',
    defaultText: 'the defaults of the two variables below',
  }),
  peerConnectSeconds: integer({
    env: 'TROUPE_PEER_CONNECT_SECONDS',
    min: 1,
    max: 120,
    unit: 'seconds',
    byDefault: 5,
    text: 'Timeout for connecting to a peer. Applies to every call: handshakes, callbacks, notices and fetches.',
  }),
  peerReadSeconds: integer({
    env: 'TROUPE_PEER_READ_SECONDS',
    min: 1,
    max: 600,
    unit: 'seconds',
    byDefault: 20,
    text: 'Timeout for the answer of a peer, to its last byte. Applies to every call. A process that dies leaves the callbacks it was sending to the others after both timeouts and 15 seconds.',
  }),
  autoSequence: flag({
    env: 'TROUPE_AUTO_SEQUENCE',
    byDefault: true,
    text: 'Orders, de-duplicates and stores what peers send to subscriptions. Off: the application’s subscription hooks get it as it comes.',
  }),
  gapTimeoutSeconds: integer({
    env: 'TROUPE_GAP_TIMEOUT_SECONDS',
    min: 1,
    max: 3600,
    unit: 'seconds',
    byDefault: 5,
    text: 'How long a missing callback is waited for before everything is fetched anew.',
  }),
  maxPendingCallbacks: integer({
    env: 'TROUPE_MAX_PENDING_CALLBACKS',
    min: 1,
    max: 10_000,
    byDefault: 100,
    text: 'How many callbacks of a subscription may wait for a missing one; then the peer is answered 429.',
  }),
  maxConcurrentCallbacks: integer({
    env: 'TROUPE_MAX_CONCURRENT_CALLBACKS',
    min: 1,
    max: 1000,
    byDefault: 10,
    text: 'How many callbacks of one actor are on their way at once.',
  }),
  maxHighGranularityBytes: integer({
    env: 'TROUPE_MAX_HIGH_GRANULARITY_BYTES',
    min: 1024,
    max: 16_777_216,
    unit: 'bytes',
    byDefault: 65_536,
    text: 'A larger change is not sent to a peer but announced with the address where it can be read.',
  }),
  circuitThreshold: integer({
    env: 'TROUPE_CIRCUIT_THRESHOLD',
    min: 1,
    max: 1000,
    byDefault: 5,
    text: 'After so many failures in a row nothing is sent to a peer for a while.',
  }),
  circuitCooldownSeconds: integer({
    env: 'TROUPE_CIRCUIT_COOLDOWN_SECONDS',
    min: 1,
    max: 86_400,
    unit: 'seconds',
    byDefault: 60,
    text: 'How long that while is; then one attempt decides.',
  }),
  retryCallbacks: flag({
    env: 'TROUPE_RETRY_CALLBACKS',
    byDefault: true,
    text: 'Repeats a callback whose outcome is not known, once. What certainly did not arrive is repeated in any case.',
  }),
  synchronousCallbacks: flag({
    env: 'TROUPE_SYNCHRONOUS_CALLBACKS',
    byDefault: false,
    text: 'A write is answered only after the first attempt to tell every subscriber.',
  }),
  maxDiffs: integer({
    env: 'TROUPE_MAX_DIFFS',
    min: 1,
    max: 1_000_000,
    byDefault: 1000,
    text: 'How many unacknowledged changes are kept for a subscription; beyond, one resync takes the place of the oldest.',
  }),
  maxDiffAgeDays: integer({
    env: 'TROUPE_MAX_DIFF_AGE_DAYS',
    min: 1,
    max: 3650,
    unit: 'days',
    byDefault: 30,
    text: 'How long unacknowledged changes are kept.',
  }),
} as const

type Options = typeof options
export type Config = { readonly [K in keyof Options]: Options[K] extends Option<infer T> ? T : never }
export type OptionName = keyof Options
