import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError } from '../../src/config/config.ts'
import { resolveConfig } from '../../src/features/config.ts'
import type { Environment } from '../../src/config/env.ts'
import { allOptions as options, type ServiceConfig as Config } from '../../src/features/config.ts'
import { keyRingOf } from '../../src/open-runtime.ts'
import { testKeys } from '../support/service.ts'

/** The required settings of production. */
const production: Environment = {
  TROUPE_MODE: 'production',
  BASE_URL: 'https://actors.example.com',
  TROUPE_SECRET_KEYS: testKeys,
}

interface Row {
  readonly env: string
  /** The default in production. In development too, unless `inDevelopment` is present. */
  readonly byDefault: unknown
  readonly inDevelopment?: unknown
  /** A string of the environment, and `value`, the setting that it becomes. */
  readonly text: string
  readonly value: unknown
  /** A different value, given in code. */
  readonly code: unknown
  /** Rejected strings of the environment, with the error message after the name of the setting. */
  readonly refused: Readonly<Record<string, string>>
}

const rateText =
  'must be `<limiter>=<count>/<seconds>` or `<limiter>=off`, separated by commas, with a count up to 1000000 and at most 31 days'

function origins(env: string): Row {
  const refusal = (text: string): string =>
    `must be origins such as https://app.example.com; ${JSON.stringify(text)} is not an origin`
  return {
    env,
    byDefault: [],
    text: 'https://a.example, myapp://callback',
    value: ['https://a.example', 'myapp://callback'],
    code: ['https://b.example:8443'],
    refused: Object.fromEntries(
      ['a.example', 'https://a.example/', 'https://A.example', '*'].map((text) => [text, refusal(text)]),
    ),
  }
}

function people(env: string): Row {
  const refusal = (text: string): string =>
    `must be addresses such as ada@example.com or ids such as google:1234; ${JSON.stringify(text)} is neither`
  return {
    env,
    byDefault: [],
    text: 'ada@example.com, google:1234',
    value: ['ada@example.com', 'google:1234'],
    code: ['acme:4711'],
    refused: Object.fromEntries(
      ['ada', 'ada@', '@example.com', 'google:', 'ada@localhost', 'a b@example.com'].map((text) => [
        text,
        refusal(text),
      ]),
    ),
  }
}

const flags = { yes: 'must be 1 or 0 (also true, false, on, off, yes, no)' }.yes

function flag(env: string, byDefault: boolean, inDevelopment = byDefault): Row {
  return {
    env,
    byDefault,
    inDevelopment,
    text: byDefault ? '0' : '1',
    value: !byDefault,
    code: byDefault,
    refused: { maybe: flags, '2': flags, 'true false': flags },
  }
}

function number(env: string, byDefault: number, [min, max]: readonly [number, number], unit = ''): Row {
  const range = `must be a whole number from ${min} to ${max}${unit === '' ? '' : `, in ${unit}`}`
  return {
    env,
    byDefault,
    text: ` ${max} `,
    value: max,
    code: min,
    refused: {
      [String(min - 1)]: range,
      [String(max + 1)]: range,
      '99999999999999999999999': range,
      '1.5': range,
      '1e3': range,
      '0x10': range,
      ten: range,
      '10 seconds': range,
      ' ': range,
    },
  }
}

function names(env: string, byDefault: readonly string[]): Row {
  return { env, byDefault, text: ' a ,b,, c', value: ['a', 'b', 'c'], code: ['x'], refused: {} }
}

const replicaUrls = 'must be PostgreSQL URLs: postgres://<user>@<host>/<database>'
const schemaNames = 'must be 1 to 63 lowercase letters, digits and underscores, and must not begin with a digit'
const databases = 'must be sqlite:<file> or postgres://<user>@<host>/<database>'
const addresses = 'must be an http or https URL'
const smtpUrls = 'must be smtps://<user>:<password>@<host> or smtp://<user>:<password>@<host>'
const levels = 'must be one of trace, debug, info, warn, error, fatal, silent'

/** Every option. The first test fails for an option that is missing here. */
const rows: Readonly<Record<string, Row>> = {
  mode: {
    env: 'TROUPE_MODE',
    byDefault: 'production',
    inDevelopment: 'development',
    text: 'development',
    value: 'development',
    code: 'production',
    refused: {
      test: 'must be one of development, production',
      Production: 'must be one of development, production',
      dev: 'must be one of development, production',
    },
  },
  port: number('PORT', 3000, [0, 65535]),
  host: {
    env: 'HOST',
    byDefault: 'localhost',
    text: '::1',
    value: '::1',
    code: '10.0.0.1',
    refused: {},
  },
  baseUrl: {
    env: 'BASE_URL',
    byDefault: 'https://actors.example.com',
    inDevelopment: null,
    text: 'https://example.org/actors',
    value: 'https://example.org/actors',
    code: 'https://code.example.com',
    refused: {
      'actors.example.com': addresses,
      'ftp://example.com': addresses,
      'javascript:alert(1)': addresses,
      '//example.com': addresses,
      'https://': addresses,
      'https://user@example.com': 'must not contain a user name or password',
      'https://user:planted-secret@example.com': 'must not contain a user name or password',
      'https://example.com/?a=b': 'must not have a query or fragment',
      'https://example.com/#a': 'must not have a query or fragment',
      ' https://example.com': 'must not contain whitespace or control characters',
      'https://example.com/a\nb': 'must not contain whitespace or control characters',
      'https://exa\tmple.com': 'must not contain whitespace or control characters',
      'http://example.com':
        'must begin with https in production, unless TROUPE_ALLOW_HTTP=1 accepts unencrypted traffic',
    },
  },
  formerBaseUrls: {
    env: 'TROUPE_FORMER_BASE_URLS',
    byDefault: [],
    text: 'https://old.example.com/, https://older.example.com/actors',
    value: ['https://old.example.com', 'https://older.example.com/actors'],
    code: ['https://code.example.com'],
    refused: {
      'old.example.com': addresses,
      'https://old.example.com,ftp://example.com': addresses,
      'https://user:planted-secret@example.com': 'must not contain a user name or password',
      'https://example.com/?a=b': 'must not have a query or fragment',
      'https://actors.example.com/': 'names BASE_URL itself: remove https://actors.example.com from it',
    },
  },
  formerAnswer: {
    env: 'TROUPE_FORMER_ANSWER',
    byDefault: 'serve',
    text: 'redirect',
    value: 'redirect',
    code: 'gone',
    refused: { move: 'must be one of serve, redirect, gone' },
  },
  allowHttp: flag('TROUPE_ALLOW_HTTP', false, true),
  database: {
    env: 'DATABASE_URL',
    byDefault: 'sqlite:./data/troupe.db',
    text: 'postgres://user:secret@host/name',
    value: 'postgres://user:secret@host/name',
    code: 'sqlite:elsewhere.db',
    refused: {
      'mysql://user:planted-secret@host/name': databases,
      'troupe.db': databases,
      'sqlite:': databases,
      'postgres://': databases,
      ' sqlite:x': databases,
    },
  },
  databaseSchema: {
    env: 'DATABASE_SCHEMA',
    byDefault: 'troupe',
    text: 'other_place',
    value: 'other_place',
    code: 'elsewhere',
    refused: {
      'two words': schemaNames,
      Upper: schemaNames,
      '9lives': schemaNames,
      'a"; DROP TABLE actor': schemaNames,
      pg_temp: 'must not be a schema of PostgreSQL itself',
      information_schema: 'must not be a schema of PostgreSQL itself',
    },
  },
  app: {
    env: 'TROUPE_APP',
    byDefault: null,
    text: 'app.ts',
    value: 'app.ts',
    code: 'other.ts',
    refused: {},
  },
  readReplicas: {
    env: 'TROUPE_READ_REPLICAS',
    byDefault: [],
    text: 'postgres://u:p@one/d, postgresql://two/d?pooler=prepared',
    value: ['postgres://u:p@one/d', 'postgresql://two/d?pooler=prepared'],
    code: ['postgres://one/d'],
    refused: {
      'sqlite:troupe.db': replicaUrls,
      'postgres://u:planted-secret@one/d,two': replicaUrls,
      'mysql://u:planted-secret@one/d': replicaUrls,
    },
  },
  synchronous: {
    env: 'TROUPE_SQLITE_SYNCHRONOUS',
    byDefault: 'FULL',
    text: 'NORMAL',
    value: 'NORMAL',
    code: 'FULL',
    refused: {
      OFF: 'must be one of FULL, NORMAL',
      full: 'must be one of FULL, NORMAL',
      '0': 'must be one of FULL, NORMAL',
    },
  },
  reserveBytes: { ...number('TROUPE_SQLITE_RESERVE_BYTES', 16_777_216, [0, 1_073_741_824], 'bytes'), inDevelopment: 0 },
  secretKeys: {
    env: 'TROUPE_SECRET_KEYS',
    byDefault: testKeys,
    inDevelopment: null,
    text: `k2:x,${testKeys}`,
    value: `k2:x,${testKeys}`,
    code: 'k3:x',
    refused: {},
  },
  allowPrivatePeers: flag('TROUPE_ALLOW_PRIVATE_PEERS', false, true),
  trustedProxies: number('TROUPE_TRUSTED_PROXIES', 0, [0, 16]),
  rateLimits: {
    env: 'TROUPE_RATE_LIMITS',
    byDefault: {},
    text: 'create_actor/source=5/60, *=off',
    value: { 'create_actor/source': { count: 5, seconds: 60 }, '*': null },
    code: { 'create_actor/source': null },
    refused: { 'create_actor/source=5': rateText, 'create_actor/source=0/60': rateText, '=1/1': rateText },
  },
  activityPerActor: number('TROUPE_ACTIVITY_PER_ACTOR', 10_000, [0, 1_000_000]),
  activityDays: number('TROUPE_ACTIVITY_DAYS', 90, [1, 3650], 'days'),
  historyDays: number('TROUPE_HISTORY_DAYS', 30, [0, 3650], 'days'),
  historyPerActor: number('TROUPE_HISTORY_PER_ACTOR', 1000, [1, 100_000]),
  historySize: number('TROUPE_HISTORY_SIZE', 4_194_304, [1024, 1_073_741_824], 'characters'),
  logLevel: {
    env: 'LOG_LEVEL',
    byDefault: 'info',
    text: 'debug',
    value: 'debug',
    code: 'warn',
    refused: { verbose: levels, INFO: levels, '5': levels },
  },
  logFormat: {
    env: 'TROUPE_LOG_FORMAT',
    byDefault: 'json',
    inDevelopment: 'text',
    text: 'text',
    value: 'text',
    code: 'json',
    refused: { pretty: 'must be one of json, text', JSON: 'must be one of json, text' },
  },
  workers: number('TROUPE_WORKERS', 10, [1, 100]),
  uniqueCreator: flag('TROUPE_UNIQUE_CREATOR', false),
  openCreation: {
    env: 'TROUPE_OPEN_CREATION',
    byDefault: null,
    text: '0',
    value: false,
    code: true,
    refused: { maybe: flags },
  },
  forceEmailAsCreator: flag('TROUPE_FORCE_EMAIL_AS_CREATOR', false),
  indexedProperties: names('TROUPE_INDEXED_PROPERTIES', ['oauthId', 'email', 'externalUserId']),
  maxSessionDays: number('TROUPE_MAX_SESSION_DAYS', 90, [1, 3650], 'days'),
  freshSignInMinutes: number('TROUPE_FRESH_SIGN_IN_MINUTES', 5, [0, 1440], 'minutes'),
  spaCorsOrigins: origins('TROUPE_SPA_CORS_ORIGINS'),
  admins: people('TROUPE_ADMINS'),
  localSignIn: {
    ...flag('TROUPE_LOCAL_SIGN_IN', false, true),
    text: '0',
    value: false,
    refused: { maybe: flags, '1': 'cannot be on in production: it lets anyone sign in as any person' },
  },
  signInUrl: {
    env: 'TROUPE_SIGN_IN_URL',
    byDefault: null,
    text: '/login?next={return}',
    value: '/login?next={return}',
    code: 'https://shop.example.com/login?next={return}',
    refused: {
      '/login': 'must contain {return}, which becomes the URL to return to',
      '//evil.example/{return}': 'must be an http or https URL, or a path that begins with one slash',
      'login?next={return}': 'must be an http or https URL, or a path that begins with one slash',
      'ftp://shop.example.com/{return}': 'must be an http or https URL, or a path that begins with one slash',
    },
  },
  signInIdentity: {
    env: 'TROUPE_SIGN_IN_IDENTITY',
    byDefault: 'email',
    text: 'provider',
    value: 'provider',
    code: 'email',
    refused: { Email: 'must be one of email, provider', sub: 'must be one of email, provider' },
  },
  spaRedirectOrigins: origins('TROUPE_SPA_REDIRECT_ORIGINS'),
  webUi: flag('TROUPE_WEB_UI', true),
  approvalUrl: {
    env: 'TROUPE_APPROVAL_URL',
    byDefault: null,
    text: 'https://app.example.com/approve/{actor}/{approval}',
    value: 'https://app.example.com/approve/{actor}/{approval}',
    code: 'http://localhost:3000/{approval}',
    refused: {
      'https://app.example.com/approve': 'must contain {approval}, which identifies the call',
      '/approve/{approval}': 'must be an http or https URL',
      'ftp://app.example.com/{approval}': 'must be an http or https URL',
    },
  },
  mcp: flag('TROUPE_MCP', true),
  mcpInstructions: {
    env: 'TROUPE_MCP_INSTRUCTIONS',
    byDefault: '',
    text: 'Ask for notes.',
    value: 'Ask for notes.',
    code: 'x',
    refused: {},
  },
  clientTrustTypes: names('TROUPE_CLIENT_TRUST_TYPES', ['mcp_client']),
  mcpOrigins: names('TROUPE_MCP_ORIGINS', []),
  templates: { env: 'TROUPE_TEMPLATES', byDefault: null, text: './pages', value: './pages', code: 'x', refused: {} },
  singlePage: { env: 'TROUPE_SINGLE_PAGE', byDefault: null, text: './app', value: './app', code: 'x', refused: {} },
  devtest: {
    ...flag('TROUPE_DEVTEST', false, true),
    text: '0',
    value: false,
    refused: { maybe: flags, '1': 'cannot be on in production: it exposes internal data' },
  },
  botToken: { env: 'TROUPE_BOT_TOKEN', byDefault: null, text: 'token', value: 'token', code: 'other', refused: {} },
  metricsToken: {
    env: 'TROUPE_METRICS_TOKEN',
    byDefault: null,
    text: 'sixteen-letters!',
    value: 'sixteen-letters!',
    code: 'another-sixteen-letters',
    refused: { 'fifteen-letters': 'must have 16 characters or more', x: 'must have 16 characters or more' },
  },
  maxBodyBytes: number('TROUPE_MAX_BODY_BYTES', 2_097_152, [1024, 268_435_456], 'bytes'),
  bodyMemoryBytes: {
    ...number('TROUPE_BODY_MEMORY_BYTES', 0, [65_536, 1_099_511_627_776], 'bytes'),
    byDefault: null,
  },
  maxJsonDepth: number('TROUPE_MAX_JSON_DEPTH', 64, [4, 512], 'levels'),
  requestTimeoutSeconds: number('TROUPE_REQUEST_TIMEOUT_SECONDS', 30, [1, 3600], 'seconds'),
  drainSeconds: { ...number('TROUPE_DRAIN_SECONDS', 0, [0, 600], 'seconds'), byDefault: null },
  shutdownSeconds: number('TROUPE_SHUTDOWN_SECONDS', 10, [0, 600], 'seconds'),
  storeTimeoutSeconds: number('TROUPE_STORE_TIMEOUT_SECONDS', 5, [1, 300], 'seconds'),
  relationship: {
    env: 'TROUPE_DEFAULT_RELATIONSHIP',
    byDefault: 'associate',
    text: 'friend',
    value: 'friend',
    code: 'partner',
    refused: {},
  },
  autoAcceptTrust: flag('TROUPE_AUTO_ACCEPT_TRUST', false),
  maxPendingTrusts: number('TROUPE_MAX_PENDING_TRUSTS', 100, [1, 100_000]),
  maxPeerSubscriptions: number('TROUPE_MAX_PEER_SUBSCRIPTIONS', 100, [1, 10_000]),
  maxActorBytes: number('TROUPE_MAX_ACTOR_BYTES', 2_147_483_648, [1, 1_099_511_627_776], 'bytes'),
  maxNames: number('TROUPE_MAX_NAMES', 200_000, [1, 100_000_000]),
  maxItems: number('TROUPE_MAX_ITEMS', 10_000_000, [1, 1_000_000_000]),
  maxRelationships: number('TROUPE_MAX_RELATIONSHIPS', 20_000, [1, 1_000_000]),
  maxSubscriptions: number('TROUPE_MAX_SUBSCRIPTIONS', 20_000, [1, 1_000_000]),
  maxKeys: number('TROUPE_MAX_KEYS', 1000, [1, 100_000]),
  files: {
    env: 'TROUPE_FILES',
    byDefault: null,
    text: '/srv/files',
    value: '/srv/files',
    code: './files',
    refused: {
      's3://': 'must have the form s3://<bucket>/<prefix>?endpoint=<URL>&region=<region>',
      's3://b?color=red':
        'must have the form s3://<bucket>/<prefix>?endpoint=<URL>&region=<region>; it has an unknown parameter',
      's3://b?endpoint=ftp://s3': 'must have an http or https URL as endpoint',
      's3://b?style=x': 'must have the style path or host',
    },
  },
  filesAccessKeyId: {
    env: 'TROUPE_FILES_ACCESS_KEY_ID',
    byDefault: null,
    text: 'id',
    value: 'id',
    code: 'other',
    refused: {},
  },
  filesSecretAccessKey: {
    env: 'TROUPE_FILES_SECRET_ACCESS_KEY',
    byDefault: null,
    text: 'key',
    value: 'key',
    code: 'other',
    refused: {},
  },
  backups: {
    env: 'TROUPE_BACKUPS',
    byDefault: null,
    text: '/srv/backups',
    value: '/srv/backups',
    code: './backups',
    refused: {
      off: 'must be a folder; remove it for no backups',
      's3://backups/all': 'must be a folder; remove it for no backups',
    },
  },
  backupsEveryHours: number('TROUPE_BACKUPS_EVERY_HOURS', 24, [1, 8760], 'hours'),
  backupsKept: number('TROUPE_BACKUPS_KEPT', 7, [1, 1000]),
  acceptMoves: flag('TROUPE_ACCEPT_MOVES', false),
  movedDays: number('TROUPE_MOVED_DAYS', 365, [1, 3650], 'days'),
  maxImportBytes: number('TROUPE_MAX_IMPORT_BYTES', 1_073_741_824, [1, 1_099_511_627_776], 'bytes'),
  notifyPermissions: flag('TROUPE_NOTIFY_PERMISSIONS', true),
  autoDeleteRevoked: flag('TROUPE_AUTO_DELETE_REVOKED', true),
  peerProfileAttributes: names('TROUPE_PEER_PROFILE', ['displayname', 'email', 'description']),
  capabilitiesMaxAgeSeconds: number('TROUPE_PEER_CAPABILITIES_MAX_AGE_SECONDS', 3600, [0, 31_536_000], 'seconds'),
  peerTimeoutSeconds: {
    env: 'TROUPE_PEER_TIMEOUT_SECONDS',
    byDefault: null,
    text: ' 8 , 30 ',
    value: [8, 30],
    code: 12,
    refused: Object.fromEntries(
      ['0', '121', '5,601', '0,20', '5,0', '5,', ',20', '5,20,1', '5;20', '1.5', 'none', ' '].map((text) => [
        text,
        'must be a whole number from 1 to 120, or two separated by a comma, the second up to 600, in seconds',
      ]),
    ),
  },
  peerConnectSeconds: number('TROUPE_PEER_CONNECT_SECONDS', 5, [1, 120], 'seconds'),
  peerReadSeconds: number('TROUPE_PEER_READ_SECONDS', 20, [1, 600], 'seconds'),
  autoSequence: flag('TROUPE_AUTO_SEQUENCE', true),
  gapTimeoutSeconds: number('TROUPE_GAP_TIMEOUT_SECONDS', 5, [1, 3600], 'seconds'),
  maxPendingCallbacks: number('TROUPE_MAX_PENDING_CALLBACKS', 100, [1, 10_000]),
  maxConcurrentCallbacks: number('TROUPE_MAX_CONCURRENT_CALLBACKS', 10, [1, 1000]),
  maxHighGranularityBytes: number('TROUPE_MAX_HIGH_GRANULARITY_BYTES', 65_536, [1024, 16_777_216], 'bytes'),
  circuitThreshold: number('TROUPE_CIRCUIT_THRESHOLD', 5, [1, 1000]),
  circuitCooldownSeconds: number('TROUPE_CIRCUIT_COOLDOWN_SECONDS', 60, [1, 86_400], 'seconds'),
  retryCallbacks: flag('TROUPE_RETRY_CALLBACKS', true),
  synchronousCallbacks: flag('TROUPE_SYNCHRONOUS_CALLBACKS', false),
  maxDiffs: number('TROUPE_MAX_DIFFS', 1000, [1, 1_000_000]),
  maxDiffAgeDays: number('TROUPE_MAX_DIFF_AGE_DAYS', 30, [1, 3650], 'days'),
  exports: {
    env: 'TROUPE_EXPORTS',
    byDefault: null,
    text: '/srv/exports',
    value: '/srv/exports',
    code: './exports',
    refused: {
      off: 'must be a folder or an S3-compatible store; remove it for no exports',
      's3://': 'must have the form s3://<bucket>/<prefix>?endpoint=<URL>&region=<region>',
    },
  },
  exportsAccessKeyId: {
    env: 'TROUPE_EXPORTS_ACCESS_KEY_ID',
    byDefault: null,
    text: 'id',
    value: 'id',
    code: 'other',
    refused: {},
  },
  exportsSecretAccessKey: {
    env: 'TROUPE_EXPORTS_SECRET_ACCESS_KEY',
    byDefault: null,
    text: 'key',
    value: 'key',
    code: 'other',
    refused: {},
  },
  exportsEveryHours: number('TROUPE_EXPORTS_EVERY_HOURS', 24, [1, 8760], 'hours'),
  exportsKept: number('TROUPE_EXPORTS_KEPT', 7, [1, 1000]),
  exportsWithSecrets: flag('TROUPE_EXPORTS_WITH_SECRETS', false),
  maxFileBytes: number('TROUPE_MAX_FILE_BYTES', 52_428_800, [1, 5_368_709_120], 'bytes'),
  maxActorFileBytes: number('TROUPE_MAX_ACTOR_FILE_BYTES', 1_073_741_824, [0, 1_099_511_627_776], 'bytes'),
  maxFiles: number('TROUPE_MAX_FILES', 10_000, [0, 100_000]),
  fileTypes: names('TROUPE_FILE_TYPES', ['*/*']),
  maxMembers: number('TROUPE_MAX_MEMBERS', 10_000, [1, 1_000_000]),
  smtpUrl: {
    env: 'TROUPE_SMTP_URL',
    byDefault: null,
    text: 'smtps://ada:secret@mail.example.com',
    value: 'smtps://ada:secret@mail.example.com',
    code: 'smtp://localhost:1025',
    refused: {
      'mail.example.com': smtpUrls,
      'https://mail.example.com': smtpUrls,
      'smtps://ada:planted-secret@mail.example.com/box': smtpUrls,
      'smtp://ada:planted-secret@mail.example.com?tls=off':
        'must not have a password with tls=off, because others could read it on the way',
    },
  },
  mailFrom: {
    env: 'TROUPE_MAIL_FROM',
    byDefault: null,
    text: 'Notes <notes@example.com>',
    value: 'Notes <notes@example.com>',
    code: 'notes@code.example.com',
    refused: {
      notes: 'must be an address such as Notes <notes@example.com>',
      'notes@example.com, eve@example.com': 'must be an address such as Notes <notes@example.com>',
      'Notes\r\nBcc: eve@example.com <notes@example.com>': 'must be an address such as Notes <notes@example.com>',
    },
  },
  devMail: flag('TROUPE_DEV_MAIL', false, true),
  maxWebhooks: number('TROUPE_MAX_WEBHOOKS', 20, [0, 1000]),
}

function refusalOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    assert.match(error.message, /^[^\n]+\.$/)
    assert.doesNotMatch(error.message, /planted/)
    return error.message
  }
  assert.fail('it was not refused')
}

const valueOf = (config: Config, name: string): unknown => config[name as keyof Config]

describe('the settings', () => {
  it('have exactly these options, and these eight are secret (OPS-09)', () => {
    assert.deepEqual(
      Object.entries(options).map(([name, { env }]) => `${name} ${env}`),
      Object.entries(rows).map(([name, { env }]) => `${name} ${env}`),
    )
    assert.deepEqual(
      Object.entries(options).flatMap(([name, option]) => ('secret' in option ? [name] : [])),
      [
        'database',
        'readReplicas',
        'secretKeys',
        'botToken',
        'metricsToken',
        'filesSecretAccessKey',
        'exportsSecretAccessKey',
        'smtpUrl',
      ],
    )
  })

  for (const [name, row] of Object.entries(rows)) {
    it(`have ${name}, with a safe default, precedence of the environment, and errors that name it (OPS-09, R-LIM-01)`, () => {
      const { env, byDefault, inDevelopment = byDefault, text, value, code, refused } = row
      assert.deepEqual(valueOf(resolveConfig({}, production), name), byDefault)
      assert.deepEqual(valueOf(resolveConfig({}, { TROUPE_MODE: 'development' }), name), inDevelopment)
      assert.deepEqual(valueOf(resolveConfig({}, { ...production, [env]: text }), name), value)
      const { [env]: _own, ...others } = production
      if (name !== 'secretKeys' && name !== 'baseUrl' && name !== 'mode') {
        assert.deepEqual(valueOf(resolveConfig({ [name]: code }, others), name), code)
      }
      assert.deepEqual(valueOf(resolveConfig({ [name]: code }, { ...production, [env]: text }), name), value)
      for (const [bad, why] of Object.entries(refused)) {
        assert.equal(
          refusalOf(() => resolveConfig({}, { ...production, [env]: bad })),
          `${env} ${why}.`,
        )
        // The environment also decides when its value is invalid and the value in code is valid.
        assert.equal(
          refusalOf(() => resolveConfig({ [name]: code }, { ...production, [env]: bad })),
          `${env} ${why}.`,
        )
      }
    })
  }

  it('are rejected in code when a value has the wrong type (OPS-09)', () => {
    const wrong: readonly [name: string, value: unknown, sentence: string][] = [
      ['mode', 'dev', 'Option mode must be one of development, production.'],
      ['port', '3000', 'Option port must be a whole number from 0 to 65535.'],
      ['port', Number.NaN, 'Option port must be a whole number from 0 to 65535.'],
      ['port', 65_536, 'Option port must be a whole number from 0 to 65535.'],
      ['host', 5, 'Option host must be a string.'],
      ['host', null, 'Option host must be a string.'],
      ['baseUrl', 'example.com', 'Option baseUrl must be an http or https URL.'],
      ['devtest', 'true', 'Option devtest must be true or false.'],
      ['devtest', 1, 'Option devtest must be true or false.'],
      ['devtest', null, 'Option devtest must be true or false.'],
      ['database', null, 'Option database must be a string.'],
      ['indexedProperties', 'email', 'Option indexedProperties must be a list of names.'],
      ['indexedProperties', ['email', ''], 'Option indexedProperties must be a list of names.'],
      ['indexedProperties', ['email', 5], 'Option indexedProperties must be a list of names.'],
      [
        'peerTimeoutSeconds',
        [5, '20'],
        'Option peerTimeoutSeconds must be a whole number from 1 to 120, or two separated by a comma, the second up to 600, in seconds.',
      ],
      ['relationship', '', 'Option relationship must name a trust type.'],
      ['secretKeys', ['planted-secret'], 'Option secretKeys must be a string.'],
      ['metricsToken', 'planted', 'Option metricsToken must have 16 characters or more.'],
    ]
    for (const [name, value, sentence] of wrong) {
      const env = name === 'mode' ? {} : { TROUPE_MODE: 'development' }
      assert.equal(
        refusalOf(() => resolveConfig({ [name]: value }, env)),
        sentence,
      )
    }
  })

  it('require the key of an S3-compatible store', () => {
    const files = 's3://bucket/prefix?endpoint=https://s3.example.com&region=eu'
    const env = { TROUPE_MODE: 'development', TROUPE_FILES_ACCESS_KEY_ID: 'id' }
    assert.equal(
      refusalOf(() => resolveConfig({ files }, env)),
      'TROUPE_FILES names an S3-compatible store: set TROUPE_FILES_ACCESS_KEY_ID and TROUPE_FILES_SECRET_ACCESS_KEY.',
    )
    assert.equal(resolveConfig({ files }, { ...env, TROUPE_FILES_SECRET_ACCESS_KEY: 'key' }).files, files)
    assert.equal(
      refusalOf(() => resolveConfig({ exports: files }, env)),
      'TROUPE_EXPORTS names an S3-compatible store: set TROUPE_EXPORTS_ACCESS_KEY_ID and TROUPE_EXPORTS_SECRET_ACCESS_KEY.',
    )
  })

  it('treat an empty string as absent, except in a list of names, where it is the empty list (OPS-09)', () => {
    const empty = Object.fromEntries(Object.values(rows).map(({ env }) => [env, '']))
    const config = resolveConfig({ mode: 'development' }, empty)
    assert.deepEqual(config, {
      ...resolveConfig({}, { TROUPE_MODE: 'development' }),
      indexedProperties: [],
      clientTrustTypes: [],
      fileTypes: [],
      peerProfileAttributes: [],
    })
  })

  it("set both timeouts of peer calls by one value or a pair, and a timeout's own setting takes precedence (R-SUB-12, R-LIM-01)", () => {
    const shared = 'TROUPE_PEER_TIMEOUT_SECONDS'
    const [connect, read] = ['TROUPE_PEER_CONNECT_SECONDS', 'TROUPE_PEER_READ_SECONDS']
    const cases: readonly [code: Partial<Config>, env: Record<string, string>, timeouts: [number, number]][] = [
      [{}, {}, [5, 20]],
      [{ peerTimeoutSeconds: 9 }, {}, [9, 9]],
      [{ peerTimeoutSeconds: [3, 40] }, {}, [3, 40]],
      [{}, { [shared]: '7' }, [7, 7]],
      [{}, { [shared]: '2,50' }, [2, 50]],
      [{ peerTimeoutSeconds: 9, peerReadSeconds: 30 }, {}, [9, 30]],
      [{ peerTimeoutSeconds: 9 }, { [read]: '33' }, [9, 33]],
      [{ peerTimeoutSeconds: 9 }, { [shared]: '2,50' }, [2, 50]],
      [{ peerConnectSeconds: 4, peerReadSeconds: 30 }, { [shared]: '7' }, [7, 7]],
      [{ peerConnectSeconds: 4 }, { [shared]: '7', [connect]: '6' }, [6, 7]],
    ]
    for (const [code, env, timeouts] of cases) {
      const config = resolveConfig(code, { ...production, ...env })
      assert.deepEqual([config.peerConnectSeconds, config.peerReadSeconds], timeouts, JSON.stringify([code, env]))
    }
  })

  it('accept each spelling of a flag (OPS-09)', () => {
    const read = (text: string): boolean => resolveConfig({}, { ...production, TROUPE_WEB_UI: text }).webUi
    for (const text of ['1', 'true', 'TRUE', ' on ', 'Yes']) assert.equal(read(text), true, text)
    for (const text of ['0', 'false', 'FALSE', ' off ', 'No']) assert.equal(read(text), false, text)
  })
})

describe('a setting with an unknown name', () => {
  it('is rejected with its name and without its value (OPS-09)', () => {
    for (const name of ['TROUPE_SECRET_KEY', 'TROUPE_', 'TROUPE_PORT', 'TROUPE_DEVTESTS', 'TROUPE___PROTO__']) {
      assert.equal(
        refusalOf(() => resolveConfig({}, { ...production, [name]: 'planted-secret' })),
        `Unknown environment variable ${name}: check its spelling in docs/configuration.md, or remove it.`,
      )
      assert.equal(
        refusalOf(() => resolveConfig({}, { ...production, [name]: '' })),
        `Unknown environment variable ${name}: check its spelling in docs/configuration.md, or remove it.`,
      )
    }
  })

  it('is rejected in code too, including the names of Object.prototype (OPS-09)', () => {
    for (const name of ['prot', 'Port', 'toString', 'constructor', 'hasOwnProperty', 'PORT']) {
      const code = Object.fromEntries([[name, 'planted-secret']])
      assert.equal(
        refusalOf(() => resolveConfig(code, production)),
        `Unknown option ${name}: check its spelling in docs/configuration.md, or remove it.`,
      )
    }
  })

  it('is ignored when Kubernetes sets it for services whose names begin with "troupe"', () => {
    const links = {
      TROUPE_SERVICE_HOST: '10.0.0.1',
      TROUPE_SERVICE_PORT: '80',
      TROUPE_SERVICE_PORT_HTTP: '80',
      TROUPE_PORT: 'tcp://10.0.0.1:80',
      TROUPE_PORT_80_TCP: 'tcp://10.0.0.1:80',
      TROUPE_PORT_80_TCP_PROTO: 'tcp',
      TROUPE_PORT_80_TCP_PORT: '80',
      TROUPE_PORT_80_TCP_ADDR: '10.0.0.1',
      TROUPE_WEB_SERVICE_HOST: '10.0.0.2',
      TROUPE_WEB_PORT: 'tcp://10.0.0.2:80',
    }
    assert.deepEqual(resolveConfig({}, { ...production, ...links }), resolveConfig({}, production))
    for (const [name, value] of [
      ['TROUPE_PORT', '80'],
      ['TROUPE_WEB_PORT', '80'],
      ['TROUPE_SERVICE', '10.0.0.1'],
      ['TROUPE_PORT_80', 'tcp://10.0.0.1:80'],
    ] as const)
      assert.equal(
        refusalOf(() => resolveConfig({}, { ...production, [name]: value })),
        `Unknown environment variable ${name}: check its spelling in docs/configuration.md, or remove it.`,
      )
  })

  it('is ignored when it belongs to another program', () => {
    const others = { PATH: '/bin', NODE_ENV: 'development', DEBUG: '*', TROUPE_TEST_POSTGRES: 'x', troupe_mode: 'x' }
    assert.deepEqual(resolveConfig({}, { ...production, ...others }), resolveConfig({}, production))
  })
})

describe('settings with several problems', () => {
  const problemsOf = (env: Environment, code = {}): readonly string[] => {
    try {
      resolveConfig(code, env)
    } catch (error) {
      assert.ok(error instanceof ConfigError)
      assert.equal(
        error.message,
        `The settings have ${error.problems.length} problems:\n${error.problems.map((each) => `- ${each}`).join('\n')}`,
      )
      return error.problems
    }
    assert.fail('they were not refused')
  }

  it('are refused with all of them at once: what is missing, wrong, unknown and contradictory', () => {
    assert.deepEqual(problemsOf({}), [
      'TROUPE_SECRET_KEYS is required in production: run `troupe keys new` and keep its output safe.',
      'BASE_URL is required in production: the public https address of the service.',
    ])
    assert.deepEqual(
      problemsOf(
        {
          PORT: 'ten',
          BASE_URL: 'http://a.example',
          TROUPE_SECRET_KEY: 'planted',
          TROUPE_DEVTEST: '1',
          TROUPE_LOCAL_SIGN_IN: '1',
          TROUPE_FILES: 's3://bucket/prefix',
          DATABASE_URL_FILE: '/does/not/exist',
        },
        { prot: 1, webUi: 'yes' },
      ),
      [
        'Unknown environment variable TROUPE_SECRET_KEY: check its spelling in docs/configuration.md, or remove it.',
        'Unknown option prot: check its spelling in docs/configuration.md, or remove it.',
        'PORT must be a whole number from 0 to 65535.',
        'DATABASE_URL_FILE cannot be read: /does/not/exist (ENOENT). The user of the service needs the right to read this file.',
        'Option webUi must be true or false.',
        'TROUPE_FILES names an S3-compatible store: set TROUPE_FILES_ACCESS_KEY_ID and TROUPE_FILES_SECRET_ACCESS_KEY.',
        'TROUPE_SECRET_KEYS is required in production: run `troupe keys new` and keep its output safe.',
        'BASE_URL must begin with https in production, unless TROUPE_ALLOW_HTTP=1 accepts unencrypted traffic.',
        'TROUPE_LOCAL_SIGN_IN cannot be on in production: it lets anyone sign in as any person.',
        'TROUPE_DEVTEST cannot be on in production: it exposes internal data.',
      ],
    )
  })

  it('do not name a wrong setting as missing, and name nothing that follows from a wrong mode', () => {
    const keys = { TROUPE_SECRET_KEYS: testKeys }
    assert.deepEqual(problemsOf({ ...keys, BASE_URL: 'a.example', PORT: 'x' }), [
      'PORT must be a whole number from 0 to 65535.',
      'BASE_URL must be an http or https URL.',
    ])
    assert.deepEqual(problemsOf({ TROUPE_MODE: 'dev', PORT: 'x' }), [
      'TROUPE_MODE must be one of development, production.',
      'PORT must be a whole number from 0 to 65535.',
    ])
  })

  it('name each pair of wrong settings, in any order', () => {
    const wrong = Object.values(rows).flatMap(({ env, refused }) => {
      const [bad] = Object.entries(refused)
      return bad === undefined || env === 'TROUPE_MODE' ? [] : [{ env, text: bad[0], sentence: `${env} ${bad[1]}.` }]
    })
    assert.ok(wrong.length > 60)
    for (const [place, one] of wrong.entries()) {
      const other = wrong[(place * 7 + 3) % wrong.length]
      if (other === undefined || other.env === one.env) continue
      const found = problemsOf({ ...production, [one.env]: one.text, [other.env]: other.text })
      assert.deepEqual([...found].toSorted(), [one.sentence, other.sentence].toSorted())
    }
  })
})

describe('production', () => {
  it('is the default mode and does not start without its required settings (OPS-09)', () => {
    assert.equal(
      refusalOf(() => resolveConfig({}, { BASE_URL: 'https://a.example' })),
      'TROUPE_SECRET_KEYS is required in production: run `troupe keys new` and keep its output safe.',
    )
    assert.equal(
      refusalOf(() => resolveConfig({}, { TROUPE_SECRET_KEYS: testKeys })),
      'BASE_URL is required in production: the public https address of the service.',
    )
    assert.equal(
      refusalOf(() => resolveConfig({}, { TROUPE_SECRET_KEYS: testKeys, BASE_URL: 'http://actors.example.com' })),
      'BASE_URL must begin with https in production, unless TROUPE_ALLOW_HTTP=1 accepts unencrypted traffic.',
    )
    assert.equal(resolveConfig({}, { TROUPE_SECRET_KEYS: testKeys, BASE_URL: 'https://a.example' }).mode, 'production')
  })

  it('rejects development settings from the environment and from the code (OPS-09)', () => {
    const sentence = 'TROUPE_DEVTEST cannot be on in production: it exposes internal data.'
    assert.equal(
      refusalOf(() => resolveConfig({}, { ...production, TROUPE_DEVTEST: '1' })),
      sentence,
    )
    assert.equal(
      refusalOf(() => resolveConfig({ devtest: true }, production)),
      sentence,
    )
    // The environment takes precedence over the code.
    assert.equal(resolveConfig({ devtest: true }, { ...production, TROUPE_DEVTEST: '0' }).devtest, false)
    assert.equal(
      refusalOf(() => resolveConfig({ mode: 'development', devtest: true }, production)),
      sentence,
    )
    assert.equal(
      refusalOf(() => resolveConfig({ baseUrl: 'http://a.example' }, { ...production, BASE_URL: '' })),
      'BASE_URL must begin with https in production, unless TROUPE_ALLOW_HTTP=1 accepts unencrypted traffic.',
    )
  })

  it('accepts unencrypted traffic only with TROUPE_ALLOW_HTTP (OPS-09)', () => {
    const clear = { ...production, BASE_URL: 'http://actors.example.com', TROUPE_ALLOW_HTTP: '1' }
    assert.equal(resolveConfig({}, clear).baseUrl, 'http://actors.example.com')
  })

  it('enables no relaxed setting of development (OPS-09)', () => {
    const { devtest, allowHttp, allowPrivatePeers, autoAcceptTrust } = resolveConfig({}, production)
    assert.deepEqual([devtest, allowHttp, allowPrivatePeers, autoAcceptTrust], [false, false, false, false])
  })
})

describe('the keys', () => {
  it('are rejected by name, without printing any of their characters, when they are weak or malformed (OPS-09, SEC-03)', async () => {
    const planted = 'planted-planted-planted-planted!'
    const weak: readonly [keys: string, why: string][] = [
      [Buffer.from(planted).toString('base64url'), 'Entry 1 of the key ring has no ":" between id and key'],
      [
        `k1:${Buffer.from(planted).toString('base64url')}`,
        'Key "k1" is not random bytes: it is typed text or a guessable pattern',
      ],
      [
        `k1:${Buffer.alloc(32).toString('base64url')}`,
        'Key "k1" is not random bytes: it is typed text or a guessable pattern',
      ],
      ['k1:c2hvcnQ', 'Key "k1" has 5 bytes instead of 32'],
      [`${testKeys},${testKeys}`, 'Two entries of the key ring have the id "k1"'],
    ]
    for (const [secretKeys, why] of weak) {
      const config = resolveConfig({}, { ...production, TROUPE_SECRET_KEYS: secretKeys })
      await assert.rejects(keyRingOf(config), {
        name: 'ConfigError',
        message: `Cannot use TROUPE_SECRET_KEYS: ${why}.`,
      })
    }
  })

  it('are generated beside the data only in development', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-config-'))
    try {
      const config = resolveConfig({}, { TROUPE_MODE: 'development', DATABASE_URL: `sqlite:${folder}/x.db` })
      const first = await keyRingOf(config)
      assert.equal((await keyRingOf(config)).currentId, first.currentId)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
