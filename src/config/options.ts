/** All options of the core, with units, defaults and descriptions. Features have options of their own (`features/config.ts`). */
import { type AboutOption, type ConfigOf, type Mode, type Option, optionKinds } from './option.ts'

const { integer, optionalInteger, flag, optionalFlag, choice, text, words, checkedWords, option } = optionKinds

/** A list of origins: scheme, host and port, as browsers send them in `Origin`. */
function origins(about: AboutOption<readonly string[]>): Option<readonly string[]> {
  return checkedWords(about, 'origins (scheme, host and port) separated by commas; empty for none', (name) => {
    const url = URL.parse(name)
    // Custom schemes of native applications have an opaque origin, so the service compares the string itself.
    const isOrigin =
      url !== null && (url.origin === 'null' ? /^[a-z][a-z0-9+.-]*:\/\/[^/?#@]*$/.test(name) : url.origin === name)
    return isOrigin ? null : `must be origins such as https://app.example.com; ${JSON.stringify(name)} is not an origin`
  })
}

/** All, none, or those with some origins. */
function flagOrOrigins(about: AboutOption<boolean>): Option<boolean | readonly string[]> {
  const [all, some] = [flag(about), origins({ ...about, byDefault: [] })]
  return {
    ...all,
    values: '1 or 0 (also true, false, on, off, yes, no), or origins (scheme, host and port) separated by commas',
    check: (value) => (typeof value === 'boolean' ? all.check(value) : some.check(value)),
    parse: (text) => (/[:/.,]/.test(text) ? some.parse(text) : all.parse(text)),
  }
}

/** Verified addresses, and ids of people at a provider. */
function people(about: AboutOption<readonly string[]>): Option<readonly string[]> {
  return checkedWords(about, 'addresses, provider ids and passkeys, separated by commas; empty for none', (name) => {
    // An id of an actor is chosen by the service from which the actor comes.
    if (name.startsWith('passkey:') && !/^passkey:[A-Za-z0-9_-]{43}$/.test(name))
      return `must name a passkey by the fingerprint on the page of passkeys; ${JSON.stringify(name)} is not one`
    return /^([^\s@]+@[^\s@.]+(\.[^\s@.]+)+|[a-z][a-z0-9-]*:[!-~]+)$/.test(name)
      ? null
      : `must be addresses such as ada@example.com or ids such as google:1234; ${JSON.stringify(name)} is neither`
  })
}

/** URLs of read replicas. */
function replicas(about: AboutOption<readonly string[]>): Option<readonly string[]> {
  const values = '`postgres://<user>:<password>@<host>/<database>` separated by commas; empty for none'
  // The message must not contain the URL, which has a password.
  return checkedWords(about, values, (url) =>
    /^postgres(ql)?:\/\/.+$/.test(url) && URL.canParse(url)
      ? null
      : 'must be PostgreSQL URLs: postgres://<user>@<host>/<database>',
  )
}

/** Former values of `BASE_URL`, without a trailing slash. */
function baseUrls(about: AboutOption<readonly string[]>): Option<readonly string[]> {
  const values = 'http or https URLs separated by commas; empty for none'
  const list = checkedWords(about, values, checkBaseUrl)
  const normal = (urls: readonly string[]): readonly string[] => urls.map((url) => url.replace(/(?<!\/)\/+$/, ''))
  return { ...list, check: (value) => normal(list.check(value)), parse: (text) => normal(list.parse(text)) }
}

/** A rate limit: `count` requests at once, and the same number again evenly over each span of `seconds`. */
export interface GivenRate {
  readonly count: number
  readonly seconds: number
}

/** Rate limits by limiter name; null turns the limiter off. */
export type GivenRates = Readonly<Record<string, GivenRate | null>>

function rates(about: AboutOption<GivenRates>): Option<GivenRates> {
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

/** Timeouts for connecting to a peer and for its response, in seconds; a single number sets both. */
export type GivenTimeouts = number | readonly [connect: number, read: number]

const maxTimeouts = [120, 600] as const

function timeouts(about: AboutOption<GivenTimeouts | null>): Option<GivenTimeouts | null> {
  const values = `whole number from 1 to ${maxTimeouts[0]}, or two separated by a comma, the second up to ${maxTimeouts[1]}, in seconds`
  const isWithin = (value: unknown, most: number): boolean =>
    typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most
  const read = (value: unknown): GivenTimeouts | null => {
    const pair = Array.isArray(value) ? (value as unknown[]) : [value, value]
    const isValid = pair.length === 2 && isWithin(pair[0], maxTimeouts[0]) && isWithin(pair[1], maxTimeouts[1])
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
  // The URL parser would silently drop these characters, but every link would contain them.
  if (/[\s\p{Cc}]/u.test(value)) return 'must not contain whitespace or control characters'
  const url = URL.parse(value)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return 'must be an http or https URL'
  if (!/^[!-~]+$/.test(value))
    return 'must be written in ASCII: percent-encode the path, and use the xn-- form of the host'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  if (url.search !== '' || url.hash !== '') return 'must not have a query or fragment'
  return null
}

function checkApprovalUrl(value: string): string | null {
  if (!value.includes('{approval}')) return 'must contain {approval}, which identifies the call'
  const url = URL.parse(value.replaceAll('{approval}', 'x').replaceAll('{actor}', 'x'))
  return url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') ? 'must be an http or https URL' : null
}

function checkSignInUrl(value: string): string | null {
  if (!value.includes('{return}')) return 'must contain {return}, which becomes the URL to return to'
  // Two slashes, or a slash and a backslash, would lead to another host.
  const isPath = /^\/(?![/\\])/.test(value)
  const url = URL.parse(value.replaceAll('{return}', 'x'), 'https://base.example')
  return url === null || !(isPath || /^https?:\/\/[^/]/.test(value))
    ? 'must be an http or https URL, or a path that begins with one slash'
    : null
}

function checkDatabase(value: string): string | null {
  return /^(sqlite:.+|postgres(ql)?:\/\/.+)$/.test(value)
    ? null
    : 'must be sqlite:<file> or postgres://<user>@<host>/<database>'
}

function checkDatabaseSchema(value: string): string | null {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(value))
    return 'must be 1 to 63 lowercase letters, digits and underscores, and must not begin with a digit'
  // PostgreSQL reserves these names.
  return value.startsWith('pg_') || value === 'information_schema' ? 'must not be a schema of PostgreSQL itself' : null
}

/** Checks the place of objects. Null: it is a folder or an S3-compatible store. */
export function checkFiles(value: string): string | null {
  if (value.startsWith('s3:')) return checkS3(value)
  return value === '' || /[\0\n]/.test(value) ? 'must be the path of a folder' : null
}

function checkS3(value: string): string | null {
  const form = 's3://<bucket>/<prefix>?endpoint=<URL>&region=<region>'
  const url = URL.parse(value)
  if (url === null || url.hostname === '' || url.username !== '') return `must have the form ${form}`
  if (!/^[\w./-]*$/.test(url.pathname)) return 'must have a prefix of letters, digits, dots, dashes and slashes'
  const { endpoint = 'https:', style = 'path', region: _region, ...unknown } = Object.fromEntries(url.searchParams)
  if (Object.keys(unknown).length > 0) return `must have the form ${form}; it has an unknown parameter`
  const protocol = endpoint === 'https:' ? endpoint : URL.parse(endpoint)?.protocol
  if (protocol !== 'https:' && protocol !== 'http:') return 'must have an http or https URL as endpoint'
  return style === 'path' || style === 'host' ? null : 'must have the style path or host'
}

export const options = {
  mode: choice<Mode>({
    env: 'TROUPE_MODE',
    choices: ['development', 'production'],
    byDefault: 'production',
    text: 'Development enables the devtest endpoints, allows loopback peers and creates a key next to the data. `npm start` and `troupe dev` set it.',
  }),
  port: integer({
    env: 'PORT',
    min: 0,
    max: 65535,
    byDefault: 3000,
    text: 'The port to listen on; 0 chooses a free port.',
  }),
  host: text<string>({
    env: 'HOST',
    byDefault: 'localhost',
    values: 'name or address',
    text: 'The address to listen on. `localhost` is this machine alone, by IPv4 and IPv6, which fits a proxy on the same machine. `0.0.0.0` is every IPv4 address, and `::` every address: a container needs one of them, and the Dockerfile of `troupe new` sets it.',
  }),
  baseUrl: text<string | null>(
    {
      env: 'BASE_URL',
      byDefault: null,
      values: 'https URL, with a path when the service runs under a prefix',
      text: 'The public URL. Every link that the service generates begins with it; the Host header is never trusted.',
      defaultText: '`http://localhost:<PORT>` in development; required in production',
    },
    checkBaseUrl,
  ),
  formerBaseUrls: baseUrls({
    env: 'TROUPE_FORMER_BASE_URLS',
    byDefault: [],
    text: 'Former values of `BASE_URL` that still lead to this service ([change the public address](operations.md#change-the-public-address)). Peers that know such an address still reach their actors, and find the new one.',
  }),
  formerAnswer: choice<'serve' | 'redirect' | 'gone'>({
    env: 'TROUPE_FORMER_ANSWER',
    choices: ['serve', 'redirect', 'gone'],
    byDefault: 'serve',
    text: 'How the former addresses answer. serve: as `BASE_URL` does, and pages redirect to it. redirect: with 308 to the new address. gone: with 410. Peers always find the new address of an actor there.',
  }),
  allowHttp: flag({
    env: 'TROUPE_ALLOW_HTTP',
    byDefault: (mode) => mode === 'development',
    text: 'Accepts a `BASE_URL` that is not https in production, and calls peers over http. Passphrases and secrets then cross the network unencrypted. Programs work at such an address, but people cannot sign in on its pages, because browsers keep the cookies for https only; Chromium and Firefox keep them at `localhost` too.',
    defaultText: '1 in development, else 0',
  }),
  database: text<string>(
    {
      env: 'DATABASE_URL',
      byDefault: 'sqlite:./data/troupe.db',
      values:
        '`sqlite:<file>` or `postgres://<user>:<password>@<host>/<database>`, with several hosts separated by commas',
      text: 'The database of the service. Behind a connection pooler, a PostgreSQL URL needs the parameter `pooler` ([databases](databases.md#connection-poolers)).',
      secret: true,
    },
    checkDatabase,
  ),
  databaseSchema: text<string>(
    {
      env: 'DATABASE_SCHEMA',
      byDefault: 'troupe',
      values: 'name of lowercase letters, digits and underscores',
      text: 'PostgreSQL: the schema that contains the tables. A start creates it ([databases](databases.md#schema-and-privileges)).',
    },
    checkDatabaseSchema,
  ),
  app: text<string | null>({
    env: 'TROUPE_APP',
    byDefault: null,
    values: 'path of a file',
    text: 'The module of the application, for commands other than `dev` and `serve`. Required when the application [adds features](features.md), so that copies, exports and key rotations have their tables.',
  }),
  readReplicas: replicas({
    env: 'TROUPE_READ_REPLICAS',
    byDefault: [],
    text: 'Read replicas of a PostgreSQL database. They answer only reads whose caller accepts data of a stated age ([databases](databases.md#read-replicas)).',
    secret: true,
  }),
  synchronous: choice<'FULL' | 'NORMAL'>({
    env: 'TROUPE_SQLITE_SYNCHRONOUS',
    choices: ['FULL', 'NORMAL'],
    byDefault: 'FULL',
    text: 'FULL: an acknowledged change survives a power failure. NORMAL: a power failure may lose the latest changes, but damages nothing; a crash of the service alone loses nothing.',
  }),
  reserveBytes: integer({
    env: 'TROUPE_SQLITE_RESERVE_BYTES',
    min: 0,
    max: 1_073_741_824,
    unit: 'bytes',
    byDefault: (mode) => (mode === 'production' ? 16_777_216 : 0),
    text: 'SQLite only: size of a file beside the database. When the disk is full, the service deletes the file, and deletions use its space ([space on the disk](operations.md#space-on-the-disk)).',
    defaultText: '16777216; in development 0: no file',
  }),
  secretKeys: text<string | null>({
    env: 'TROUPE_SECRET_KEYS',
    byDefault: null,
    values: '`<id>:<key>` entries separated by commas, as `troupe keys new` prints them',
    text: 'Encryption keys for stored secrets (passphrases, peer secrets). The first key encrypts, all keys decrypt.',
    defaultText: 'a generated key in a file next to the data in development; required in production',
    secret: true,
  }),
  allowPrivatePeers: flag({
    env: 'TROUPE_ALLOW_PRIVATE_PEERS',
    byDefault: (mode) => mode === 'development',
    text: 'Allows calls to other actors at loopback and private addresses.',
    defaultText: '1 in development, else 0',
  }),
  trustedProxies: integer({
    env: 'TROUPE_TRUSTED_PROXIES',
    min: 0,
    max: 16,
    byDefault: 0,
    text: 'Number of proxies in front of the service. It trusts that many entries at the end of X-Forwarded-For; with 0 it ignores the header.',
  }),
  rateLimits: rates({
    env: 'TROUPE_RATE_LIMITS',
    byDefault: {},
    text: 'Overrides rate limits; [operations](operations.md#rate-limits) lists the limiters. In code an object: `{ "create_actor/source": { count: 100, seconds: 3600 } }`, with `null` for off. `*` means all limiters that are not named.',
    defaultText: 'the limits listed there; development allows a hundred times as much',
  }),
  activityPerActor: integer({
    env: 'TROUPE_ACTIVITY_PER_ACTOR',
    min: 0,
    max: 1_000_000,
    byDefault: 10_000,
    text: 'Maximum number of audit log entries for each actor, plus a tenth for anonymous callers and rejected requests; 0 turns the audit log off.',
  }),
  activityDays: integer({
    env: 'TROUPE_ACTIVITY_DAYS',
    min: 1,
    max: 3650,
    unit: 'days',
    byDefault: 90,
    text: 'How long audit log entries are stored.',
  }),
  historyDays: integer({
    env: 'TROUPE_HISTORY_DAYS',
    min: 0,
    max: 3650,
    unit: 'days',
    byDefault: 30,
    text: 'How long the values that changes replaced are stored, so that owners can take changes back; 0 turns the history off.',
  }),
  historyPerActor: integer({
    env: 'TROUPE_HISTORY_PER_ACTOR',
    min: 1,
    max: 100_000,
    byDefault: 1000,
    text: 'Maximum number of changes in the history of each actor. The oldest are deleted first.',
  }),
  historySize: integer({
    env: 'TROUPE_HISTORY_SIZE',
    min: 1024,
    max: 1_073_741_824,
    unit: 'characters',
    byDefault: 4_194_304,
    text: 'Maximum size of the history of each actor. A change that replaced more than a quarter of it cannot be taken back.',
  }),
  logLevel: choice({
    env: 'LOG_LEVEL',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    byDefault: 'info',
    text: 'The lowest level that is logged. `debug` adds a line for each request, and a line with the reason for each rejected request.',
  }),
  logFormat: choice({
    env: 'TROUPE_LOG_FORMAT',
    choices: ['json', 'text'],
    byDefault: (mode) => (mode === 'development' ? 'text' : 'json'),
    text: 'The format of the log on standard error. `json`: one line of JSON for each event. `text`: readable lines, in color on a terminal unless `NO_COLOR` is set.',
    defaultText: '`text` in development, else `json`',
  }),
  workers: integer({
    env: 'TROUPE_WORKERS',
    min: 1,
    max: 100,
    byDefault: 10,
    text: 'Maximum number of concurrent transactions on PostgreSQL: the size of the connection pool. SQLite instead groups all waiting writes into one commit.',
  }),
  uniqueCreator: flag({
    env: 'TROUPE_UNIQUE_CREATOR',
    byDefault: false,
    text: 'Allows one actor for each creator and rejects a second one.',
  }),
  openCreation: optionalFlag({
    env: 'TROUPE_OPEN_CREATION',
    byDefault: null,
    text: 'Allows anyone to create an actor under any name with `POST /`. When it is off, only a sign-in and the application create actors. A service on which other services create companions needs `1`.',
    defaultText: '0 in production where people can sign in, also by the passkeys that are on without a setting; else 1',
  }),
  forceEmailAsCreator: flag({
    env: 'TROUPE_FORCE_EMAIL_AS_CREATOR',
    byDefault: false,
    text: 'Uses the email address as the creator: setting the `email` property makes its value the creator.',
  }),
  indexedProperties: words({
    env: 'TROUPE_INDEXED_PROPERTIES',
    byDefault: ['oauthId', 'email', 'externalUserId'],
    text: 'Properties that are indexed, so that an actor can be found by their value.',
  }),
  maxSessionDays: integer({
    env: 'TROUPE_MAX_SESSION_DAYS',
    min: 1,
    max: 3650,
    unit: 'days',
    byDefault: 90,
    text: 'Maximum duration of a sign-in on a device and of a client’s connection, however often the tokens are refreshed.',
  }),
  freshSignInMinutes: integer({
    env: 'TROUPE_FRESH_SIGN_IN_MINUTES',
    min: 0,
    max: 1440,
    unit: 'minutes',
    byDefault: 5,
    text: 'Maximum age of the sign-in with which an owner may do what outlives the session, such as exporting the actor, creating a key or connecting an app. After that, the owner signs in again ([sign-in](sign-in.md#acts-that-need-a-recent-sign-in)). `0` turns this off.',
  }),
  spaCorsOrigins: origins({
    env: 'TROUPE_SPA_CORS_ORIGINS',
    byDefault: [],
    text: 'Origins whose single-page applications may call the sign-in endpoints with cookies. If empty, every origin may, without cookies.',
  }),
  admins: people({
    env: 'TROUPE_ADMINS',
    byDefault: [],
    text: 'The operators, who may open the pages at `/admin`: verified e-mail addresses, provider ids such as `google:1234`, or fingerprints of passkeys such as `passkey:u3V…`, which the page of passkeys shows. The pages and `troupe operators` add others ([operations](operations.md#the-pages-of-operators)).',
  }),
  localSignIn: flag({
    env: 'TROUPE_LOCAL_SIGN_IN',
    byDefault: (mode) => mode === 'development',
    text: 'Offers a sign-in without a password when no provider is configured. Not allowed in production.',
    defaultText: '1 in development, else 0',
  }),
  signInUrl: text<string | null>(
    {
      env: 'TROUPE_SIGN_IN_URL',
      byDefault: null,
      values: 'URL or path with `{return}`, such as `/login?next={return}`',
      text: 'The sign-in page of a program that embeds the service, for people whom its `authenticate` does not know yet ([embedding](embedding.md)). `{return}` becomes the URL to which the page redirects afterwards.',
      defaultText: 'none: such a sign-in is refused',
    },
    checkSignInUrl,
  ),
  signInIdentity: choice<'email' | 'provider'>({
    env: 'TROUPE_SIGN_IN_IDENTITY',
    choices: ['email', 'provider'],
    byDefault: 'email',
    text: 'What identifies people who sign in. `email`: the verified email address; without one, the person enters an address. `provider`: without a verified address, the provider’s permanent id of the person.',
  }),
  spaRedirectOrigins: origins({
    env: 'TROUPE_SPA_REDIRECT_ORIGINS',
    byDefault: [],
    text: 'Origins to which a sign-in of a single-page or mobile application may redirect, besides this service and the targets configured with the providers.',
  }),
  webUi: flag({
    env: 'TROUPE_WEB_UI',
    byDefault: true,
    text: 'Serves the pages under `/<actor>/www`. When off, or with `TROUPE_SINGLE_PAGE`, a signed-in browser is redirected to `/<actor>/app`.',
  }),
  approvalUrl: text<string | null>(
    {
      env: 'TROUPE_APPROVAL_URL',
      byDefault: null,
      values: 'URL with `{approval}` and optionally `{actor}`: `https://app.example.com/approve/{actor}/{approval}`',
      text: 'URL of the application’s page on which owners approve calls of operations that declare `confirm`; the page uses `/<actor>/approvals`. Callers receive this URL.',
      defaultText: 'the page of the service; with `TROUPE_WEB_UI` off `/<actor>/approvals/<approval>`, which is JSON',
    },
    checkApprovalUrl,
  ),
  mcp: flag({
    env: 'TROUPE_MCP',
    byDefault: true,
    text: 'Serves AI clients: the Model Context Protocol at `/mcp` and the authorization server.',
  }),
  mcpInstructions: text<string>({
    env: 'TROUPE_MCP_INSTRUCTIONS',
    byDefault: '',
    text: 'Instructions that AI clients receive when they connect: the purpose of the service and how to begin.',
    defaultText: 'none',
  }),
  clientTrustTypes: words({
    env: 'TROUPE_CLIENT_TRUST_TYPES',
    byDefault: ['mcp_client'],
    text: 'Trust types that an owner can give an AI client, and that a client may request. The first is the default.',
  }),
  mcpOrigins: words({
    env: 'TROUPE_MCP_ORIGINS',
    byDefault: [],
    text: 'Origins of web pages that may call `/mcp`, besides the service itself.',
  }),
  templates: text<string | null>({
    env: 'TROUPE_TEMPLATES',
    byDefault: null,
    values: 'path of a folder',
    text: 'Liquid templates that replace built-in pages, by the names in `docs/pages.md`. The service does not start with an invalid template.',
    defaultText: 'none: the built-in pages',
  }),
  singlePage: text<string | null>({
    env: 'TROUPE_SINGLE_PAGE',
    byDefault: null,
    values: 'path of a folder',
    text: 'A single-page application: `/<actor>/app` serves its `index.html`, and is the start page of a signed-in browser. `/login` serves the same file when `TROUPE_WEB_UI` is off. Its other files are at `/assets/<path>`; symbolic links out of the folder are not served.',
    defaultText: 'none: the application that embeds the service serves these URLs',
  }),
  devtest: flag({
    env: 'TROUPE_DEVTEST',
    byDefault: (mode) => mode === 'development',
    text: 'Serves the development and testing endpoints under `/<actor>/devtest`. Not allowed in production.',
    defaultText: '1 in development, else 0',
  }),
  botToken: text<string | null>({
    env: 'TROUPE_BOT_TOKEN',
    byDefault: null,
    text: 'Enables `POST /bot`. The application’s bot handler receives this token.',
    defaultText: 'none: `/bot` returns 404',
    secret: true,
  }),
  metricsToken: text<string | null>(
    {
      env: 'TROUPE_METRICS_TOKEN',
      byDefault: null,
      values: 'string of 16 characters or more',
      text: 'Opens `/metrics`: the bearer token that Prometheus sends ([metrics](operations.md#metrics)).',
      defaultText: 'none: `/metrics` returns 404 in production, and is open in development',
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
    text: 'Maximum size of a request body; a larger body returns 413.',
  }),
  bodyMemoryBytes: optionalInteger({
    env: 'TROUPE_BODY_MEMORY_BYTES',
    min: 65536,
    max: 1_099_511_627_776,
    unit: 'bytes',
    byDefault: null,
    text: 'Maximum size of all request bodies that the process reads and handles at the same time. Bodies of up to 16 KB do not count. A further body waits, and then returns 503 ([memory](operations.md#memory)).',
    defaultText: 'what fits into the memory of the container or machine, but at least one body',
  }),
  maxJsonDepth: integer({
    env: 'TROUPE_MAX_JSON_DEPTH',
    min: 4,
    max: 512,
    unit: 'levels',
    byDefault: 64,
    text: 'Maximum nesting of a JSON value; deeper nesting returns 400.',
  }),
  requestTimeoutSeconds: integer({
    env: 'TROUPE_REQUEST_TIMEOUT_SECONDS',
    min: 1,
    max: 3600,
    unit: 'seconds',
    byDefault: 30,
    text: 'Timeout for receiving a request, headers and body.',
  }),
  drainSeconds: optionalInteger({
    env: 'TROUPE_DRAIN_SECONDS',
    min: 0,
    max: 600,
    unit: 'seconds',
    byDefault: null,
    text: 'Time after a stop signal in which the service still serves everything, while `/health/ready` returns 503 and each answer ends its connection. A proxy in front of it then sends new requests to another process.',
    defaultText: '5 with `TROUPE_TRUSTED_PROXIES`, else 0',
  }),
  shutdownSeconds: integer({
    env: 'TROUPE_SHUTDOWN_SECONDS',
    min: 0,
    max: 600,
    unit: 'seconds',
    byDefault: 10,
    text: 'Time that running requests have to finish after a stop signal and the time of draining.',
  }),
  storeTimeoutSeconds: integer({
    env: 'TROUPE_STORE_TIMEOUT_SECONDS',
    min: 1,
    max: 300,
    unit: 'seconds',
    byDefault: 5,
    text: 'How long a write waits for the database before it fails with 503.',
  }),
  relationship: text<string>(
    {
      env: 'TROUPE_DEFAULT_RELATIONSHIP',
      byDefault: 'associate',
      values: 'name of a trust type',
      text: 'The trust type of requests that name no trust type.',
    },
    (value) => (value === '' ? 'must name a trust type' : null),
  ),
  autoAcceptTrust: flag({
    env: 'TROUPE_AUTO_ACCEPT_TRUST',
    byDefault: false,
    text: 'Approves requests for the default trust type immediately, unless the trust type forbids it.',
  }),
  maxPendingTrusts: integer({
    env: 'TROUPE_MAX_PENDING_TRUSTS',
    min: 1,
    max: 100_000,
    byDefault: 100,
    text: 'Maximum number of trust requests that wait for an owner’s approval, because anyone can send one; a further request returns 429.',
  }),
  maxPeerSubscriptions: integer({
    env: 'TROUPE_MAX_PEER_SUBSCRIPTIONS',
    min: 1,
    max: 10_000,
    byDefault: 100,
    text: 'Maximum number of subscriptions of a peer to an actor; a further one returns 403.',
  }),
  maxActorBytes: integer({
    env: 'TROUPE_MAX_ACTOR_BYTES',
    min: 1,
    max: 1_099_511_627_776,
    unit: 'bytes',
    byDefault: 2_147_483_648,
    text: 'Maximum size of the names and values of an actor’s properties, its items and its copies of peers’ data; a change beyond it returns 507 ([quotas](operations.md#quotas)).',
  }),
  maxNames: integer({
    env: 'TROUPE_MAX_NAMES',
    min: 1,
    max: 100_000_000,
    byDefault: 200_000,
    text: 'Maximum number of properties of an actor; a further one returns 507.',
  }),
  maxItems: integer({
    env: 'TROUPE_MAX_ITEMS',
    min: 1,
    max: 1_000_000_000,
    byDefault: 10_000_000,
    text: 'Maximum number of items of all lists of an actor; a further one returns 507.',
  }),
  maxRelationships: integer({
    env: 'TROUPE_MAX_RELATIONSHIPS',
    min: 1,
    max: 1_000_000,
    byDefault: 20_000,
    text: 'Maximum number of relationships of an actor with peers and apps; a further one returns 507.',
  }),
  maxSubscriptions: integer({
    env: 'TROUPE_MAX_SUBSCRIPTIONS',
    min: 1,
    max: 1_000_000,
    byDefault: 20_000,
    text: 'Maximum number of subscriptions of peers to an actor and of the actor to peers; a further one returns 507.',
  }),
  maxKeys: integer({
    env: 'TROUPE_MAX_KEYS',
    min: 1,
    max: 100_000,
    byDefault: 1000,
    text: 'Maximum number of API keys of an actor; a further one returns 507.',
  }),
  files: text<string | null>(
    {
      env: 'TROUPE_FILES',
      byDefault: null,
      values: 'path of a folder, `s3://<bucket>/<prefix>?endpoint=<URL>&region=<region>`, or `off`',
      text: 'Where the files of actors are stored ([files](files.md#storage)). All processes of a service need the same place.',
      defaultText: 'a folder next to the database file for SQLite; off for PostgreSQL',
    },
    checkFiles,
  ),
  filesAccessKeyId: text<string | null>({
    env: 'TROUPE_FILES_ACCESS_KEY_ID',
    byDefault: null,
    text: 'The id of the access key of the S3-compatible store.',
  }),
  filesSecretAccessKey: text<string | null>({
    env: 'TROUPE_FILES_SECRET_ACCESS_KEY',
    byDefault: null,
    text: 'The secret of the access key.',
    secret: true,
  }),
  backups: text<string | null>(
    {
      env: 'TROUPE_BACKUPS',
      byDefault: null,
      values: 'path of a folder',
      text: 'The folder of [scheduled backups](operations.md#scheduled-backups) of the database and the files.',
      defaultText: 'no scheduled backups',
    },
    (value) =>
      value === 'off' || value === '' || /^[a-z0-9]+:\/\//i.test(value)
        ? 'must be a folder; remove it for no backups'
        : null,
  ),
  backupsEveryHours: integer({
    env: 'TROUPE_BACKUPS_EVERY_HOURS',
    min: 1,
    max: 8760,
    unit: 'hours',
    byDefault: 24,
    text: 'Time from one scheduled backup to the next one.',
  }),
  backupsKept: integer({
    env: 'TROUPE_BACKUPS_KEPT',
    min: 1,
    max: 1000,
    byDefault: 7,
    text: 'Complete scheduled backups that are kept. Older ones are deleted.',
  }),
  acceptMoves: flagOrOrigins({
    env: 'TROUPE_ACCEPT_MOVES',
    byDefault: false,
    text: 'Takes actors that their owners move here from other services: from all (`1`), from none (`0`), or from services with these origins ([moving](moving.md#what-the-operators-do)).',
  }),
  movedDays: integer({
    env: 'TROUPE_MOVED_DAYS',
    byDefault: 365,
    min: 1,
    max: 3650,
    unit: 'days',
    text: 'How long the address of an actor that moved to another service redirects to its new one.',
  }),
  maxImportBytes: integer({
    env: 'TROUPE_MAX_IMPORT_BYTES',
    min: 1,
    max: 1_099_511_627_776,
    unit: 'bytes',
    byDefault: 1_073_741_824,
    text: 'Maximum size of an archive that an owner imports; a larger one returns 413.',
  }),
  notifyPermissions: flag({
    env: 'TROUPE_NOTIFY_PERMISSIONS',
    byDefault: true,
    text: 'Notifies a peer when its rights change.',
  }),
  autoDeleteRevoked: flag({
    env: 'TROUPE_AUTO_DELETE_REVOKED',
    byDefault: true,
    text: 'Deletes copies of a peer’s data that the peer no longer grants.',
  }),
  peerProfileAttributes: words({
    env: 'TROUPE_PEER_PROFILE',
    byDefault: ['displayname', 'email', 'description'],
    text: 'Properties of a peer that are stored as its profile; empty turns profiles off.',
  }),
  capabilitiesMaxAgeSeconds: integer({
    env: 'TROUPE_PEER_CAPABILITIES_MAX_AGE_SECONDS',
    min: 0,
    max: 31_536_000,
    unit: 'seconds',
    byDefault: 3600,
    text: 'Maximum age of the cached list of a peer’s methods and actions; 0 fetches it every time.',
  }),
  peerTimeoutSeconds: timeouts({
    env: 'TROUPE_PEER_TIMEOUT_SECONDS',
    byDefault: null,
    text: 'Timeouts of calls to peers: one value for both, or one for connecting and one for the response. In code a number or an array of two. The two variables below take precedence.',
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
    text: 'Timeout for the complete response of a peer. Applies to every call. When a process dies, other processes take over its callbacks after both timeouts and 15 seconds.',
  }),
  autoSequence: flag({
    env: 'TROUPE_AUTO_SEQUENCE',
    byDefault: true,
    text: 'Orders, de-duplicates and stores the callbacks of peers. When off, the application’s subscription hooks receive each callback unchanged.',
  }),
  gapTimeoutSeconds: integer({
    env: 'TROUPE_GAP_TIMEOUT_SECONDS',
    min: 1,
    max: 3600,
    unit: 'seconds',
    byDefault: 5,
    text: 'How long a subscriber waits for a missing callback before it resyncs.',
  }),
  maxPendingCallbacks: integer({
    env: 'TROUPE_MAX_PENDING_CALLBACKS',
    min: 1,
    max: 10_000,
    byDefault: 100,
    text: 'Maximum number of callbacks of a subscription that wait for a missing callback; a further callback returns 429.',
  }),
  maxConcurrentCallbacks: integer({
    env: 'TROUPE_MAX_CONCURRENT_CALLBACKS',
    min: 1,
    max: 1000,
    byDefault: 10,
    text: 'Maximum number of concurrent callbacks of one actor.',
  }),
  maxHighGranularityBytes: integer({
    env: 'TROUPE_MAX_HIGH_GRANULARITY_BYTES',
    min: 1024,
    max: 16_777_216,
    unit: 'bytes',
    byDefault: 65_536,
    text: 'Maximum size of a change in a callback. For a larger change, the callback contains the URL where the peer can read it.',
  }),
  circuitThreshold: integer({
    env: 'TROUPE_CIRCUIT_THRESHOLD',
    min: 1,
    max: 1000,
    byDefault: 5,
    text: 'Number of consecutive failures after which the circuit breaker pauses deliveries to a peer.',
  }),
  circuitCooldownSeconds: integer({
    env: 'TROUPE_CIRCUIT_COOLDOWN_SECONDS',
    min: 1,
    max: 86_400,
    unit: 'seconds',
    byDefault: 60,
    text: 'How long the circuit breaker pauses deliveries; then one attempt decides whether they resume.',
  }),
  retryCallbacks: flag({
    env: 'TROUPE_RETRY_CALLBACKS',
    byDefault: true,
    text: 'Retries a callback with unknown outcome once. Callbacks that certainly did not arrive are always retried.',
  }),
  synchronousCallbacks: flag({
    env: 'TROUPE_SYNCHRONOUS_CALLBACKS',
    byDefault: false,
    text: 'Delays the response to a write until the first callback to each subscriber was attempted.',
  }),
  maxDiffs: integer({
    env: 'TROUPE_MAX_DIFFS',
    min: 1,
    max: 1_000_000,
    byDefault: 1000,
    text: 'Maximum number of unacknowledged diffs stored for a subscription; beyond it, one resync replaces the oldest.',
  }),
  maxDiffAgeDays: integer({
    env: 'TROUPE_MAX_DIFF_AGE_DAYS',
    min: 1,
    max: 3650,
    unit: 'days',
    byDefault: 30,
    text: 'How long unacknowledged diffs are stored.',
  }),
} as const

/** The settings of the core. */
export type Config = ConfigOf<typeof options>
export type OptionName = keyof Config
