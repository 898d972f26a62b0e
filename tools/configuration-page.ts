/** The page with all settings, by task. */
import { defaultOf } from '../src/config/config.ts'
import type { NamedOption } from '../src/config/named-variables.ts'
import type { Mode, Option } from '../src/config/option.ts'
import { allOptions as options, type ServiceConfig } from '../src/features/config.ts'
import { fileVariable } from '../src/config/secret-file.ts'
import { providerOptions, providerVariables } from '../src/config/provider-options.ts'
import { serviceOptions, serviceVariables } from '../src/config/service-options.ts'

type OptionName = keyof ServiceConfig

interface Group {
  readonly title: string
  readonly text: string
  readonly names: readonly OptionName[]
}

/** The settings by task. Each setting belongs to one group. */
const groups: readonly Group[] = [
  {
    title: 'Address and network',
    text: 'Where the service listens, and how others reach it.',
    names: [
      'mode',
      'baseUrl',
      'port',
      'host',
      'trustedProxies',
      'allowHttp',
      'formerBaseUrls',
      'formerAnswer',
      'requestTimeoutSeconds',
      'drainSeconds',
      'shutdownSeconds',
    ],
  },
  {
    title: 'Database and secrets',
    text: 'Where the data is stored ([databases](databases.md)).',
    names: [
      'database',
      'secretKeys',
      'databaseSchema',
      'app',
      'readReplicas',
      'workers',
      'storeTimeoutSeconds',
      'synchronous',
      'reserveBytes',
      'indexedProperties',
    ],
  },
  {
    title: 'Files',
    text: 'The [files](files.md) of actors.',
    names: [
      'files',
      'filesAccessKeyId',
      'filesSecretAccessKey',
      'fileTypes',
      'maxFileBytes',
      'maxFiles',
      'maxActorFileBytes',
    ],
  },
  {
    title: 'Backups, exports and moves',
    text: 'Copies of the whole service ([scheduled backups](operations.md#scheduled-backups)), [archives](archives.md) of actors, and actors that [move](moving.md).',
    names: [
      'backups',
      'backupsEveryHours',
      'backupsKept',
      'exports',
      'exportsAccessKeyId',
      'exportsSecretAccessKey',
      'exportsEveryHours',
      'exportsKept',
      'exportsWithSecrets',
      'maxImportBytes',
      'acceptMoves',
      'movedDays',
    ],
  },
  {
    title: 'Accounts and sign-in',
    text: 'Who gets an actor, and how people sign in ([sign-in](sign-in.md)). The [identity providers](#identity-providers) have settings of their own.',
    names: [
      'admins',
      'openCreation',
      'uniqueCreator',
      'signInIdentity',
      'signInUrl',
      'maxSessionDays',
      'freshSignInMinutes',
      'spaRedirectOrigins',
      'spaCorsOrigins',
      'forceEmailAsCreator',
      'localSignIn',
    ],
  },
  {
    title: 'Mail',
    text: 'The server for messages to people ([mail](mail.md)).',
    names: ['smtpUrl', 'mailFrom', 'devMail'],
  },
  {
    title: 'Pages and the application',
    text: 'What people see ([pages](pages.md)), and endpoints of the application.',
    names: ['webUi', 'templates', 'singlePage', 'approvalUrl', 'botToken', 'devtest'],
  },
  {
    title: 'AI clients',
    text: 'The programs that people authorize ([AI clients](ai-clients.md)).',
    names: ['mcp', 'mcpInstructions', 'clientTrustTypes', 'mcpOrigins'],
  },
  {
    title: 'Limits',
    text: 'What one actor, one caller and one request may take ([quotas](operations.md#quotas), [rate limits](operations.md#rate-limits)).',
    names: [
      'rateLimits',
      'maxBodyBytes',
      'bodyMemoryBytes',
      'maxJsonDepth',
      'maxActorBytes',
      'maxNames',
      'maxItems',
      'maxRelationships',
      'maxPendingTrusts',
      'maxSubscriptions',
      'maxPeerSubscriptions',
      'maxKeys',
      'maxWebhooks',
      'maxMembers',
    ],
  },
  {
    title: 'Logs, metrics and records',
    text: 'What operators and owners can look up.',
    names: [
      'logLevel',
      'logFormat',
      'metricsToken',
      'activityPerActor',
      'activityDays',
      'historyDays',
      'historyPerActor',
      'historySize',
    ],
  },
  {
    title: 'Relationships and calls to peers',
    text: 'How actors meet, and how the service calls others ([peers](peers.md)).',
    names: [
      'relationship',
      'autoAcceptTrust',
      'notifyPermissions',
      'autoDeleteRevoked',
      'peerProfileAttributes',
      'capabilitiesMaxAgeSeconds',
      'allowPrivatePeers',
      'peerTimeoutSeconds',
      'peerConnectSeconds',
      'peerReadSeconds',
    ],
  },
  {
    title: 'Subscriptions',
    text: 'The delivery of changes to peers, and the copies of their data. The defaults fit almost every service.',
    names: [
      'autoSequence',
      'gapTimeoutSeconds',
      'maxPendingCallbacks',
      'maxConcurrentCallbacks',
      'maxHighGranularityBytes',
      'circuitThreshold',
      'circuitCooldownSeconds',
      'retryCallbacks',
      'synchronousCallbacks',
      'maxDiffs',
      'maxDiffAgeDays',
    ],
  },
]

/** The settings of a normal deployment, with the reason to set each. */
const usual: readonly (readonly [setting: string, reason: string])[] = [
  [options.baseUrl.env, 'The public URL. Required in production.'],
  [options.secretKeys.env, 'The key that encrypts secrets: `troupe keys new` prints one. Required in production.'],
  [options.database.env, 'PostgreSQL, or a file of SQLite at a durable place.'],
  [options.port.env, 'The port that the platform expects.'],
  [
    options.trustedProxies.env,
    '`1` behind a load balancer or ingress, so that rate limits see the addresses of callers.',
  ],
  [
    providerVariables.list,
    'The [identity providers](#identity-providers) at which people sign in, with the settings of each.',
  ],
  [options.admins.env, 'The people who may open the pages of operators.'],
  [options.files.env, 'The place of files when several processes serve, or with PostgreSQL.'],
  [options.backups.env, 'The folder of scheduled backups.'],
]

/** @param note The first line of generated pages. @throws Error when a setting is in no group, or in two. */
export function configurationPage(note: string): string {
  const grouped = groups.flatMap(({ names }) => names)
  const wrong = Object.keys(options).filter((name) => grouped.filter((one) => one === name).length !== 1)
  if (wrong.length > 0)
    throw new Error(`These settings must be in one group of the configuration page: ${wrong.join(', ')}`)
  return `${note}
# Configuration

Every setting has two names: one for the environment and one for code, as in \`troupe({ port: 8080 })\`. The environment overrides code, because the operator has the final decision. An invalid or unknown setting prevents the start, and the error names all problems of the settings at once.

\`troupe dev\` and \`npm start\` use development mode. \`troupe serve\` and embedded applications use production mode by default. Where the modes differ, both defaults are given.

## A normal deployment

These settings are enough for most services. Every other one has a default that fits most.

| Setting | |
|---|---|
${usual.map(([setting, reason]) => `| [\`${setting}\`](#${anchorOf(setting)}) | ${reason} |`).join('\n')}

${fileSection()}
${groups.map(groupSection).join('\n')}
${providerSection()}
${serviceSection()}`
}

/** Providers have one section instead of a heading for each setting. */
function anchorOf(setting: string): string {
  return setting === providerVariables.list ? 'identity-providers' : setting.toLowerCase()
}

function fileSection(): string {
  const all = Object.values<Option<unknown>>(options).filter(({ secret }) => secret === true)
  const named = [
    ...Object.values<NamedOption>(providerOptions).map((option) => ({ ...option, prefix: 'TROUPE_PROVIDER_<NAME>_' })),
    ...Object.values<NamedOption>(serviceOptions).map((option) => ({ ...option, prefix: 'TROUPE_SERVICE_<NAME>_' })),
  ].filter(({ secret }) => secret === true)
  const secrets = [...all.map(({ env }) => env), ...named.map(({ prefix, suffix }) => `${prefix}${suffix}`)]
  return `## Secrets in files

Each secret setting can be in a file, such as a secret of Docker or Kubernetes. The variable with the ending \`_FILE\` contains the path. The final line break of the file is not part of the secret. The service does not start when the file cannot be read or is empty, or when both variables are set.

| Secret | Path of its file |
|---|---|
${secrets.map((name) => `| ${code(name)} | ${code(fileVariable(name))} |`).join('\n')}
`
}

function groupSection({ title, text, names }: Group): string {
  return `## ${title}

${text}

${names.map((name) => described(name, options[name] as Option<unknown>)).join('\n')}`
}

/** Returns the rows of a table of named options. */
function rowsOf(all: Readonly<Record<string, NamedOption>>): string {
  return Object.entries(all)
    .map(
      ([name, { suffix, text, secret }]) =>
        `| \`${suffix}\` | \`${name}\` | ${text}${secret === true ? ' Appears in no log and on no page.' : ''} |`,
    )
    .join('\n')
}

function serviceSection(): string {
  return `## Third-party services

Services at which owners can connect an account; see [Writing an application](application.md#third-party-services).

An application declares them with \`app.service(name, { … })\`; \`${serviceVariables.list}\` names further services, separated by commas. The settings of a service begin with \`TROUPE_SERVICE_<NAME>_\`, with the name in capitals and \`_\` for \`-\`: \`TROUPE_SERVICE_DROPBOX_CLIENT_SECRET\`. The environment overrides code.

| In the environment | In code | |
|---|---|---|
${rowsOf(serviceOptions)}
`
}

function providerSection(): string {
  return `## Identity providers

Providers at which people sign in; [Sign-in](sign-in.md) describes each kind.

\`${providerVariables.list}\` names the providers, separated by commas, in the displayed order; the first is the default. \`passkey\`, \`email\`, \`google\`, \`github\` and \`apple\` are built in; any other name is an OpenID Connect provider. When unset, the providers that the application declares are used; without any, passkeys in production and the local sign-in in development. When set, only the listed providers are used; an empty value means none.

The settings of a provider begin with \`TROUPE_PROVIDER_<NAME>_\`, with the name in capitals and \`_\` for \`-\`: \`TROUPE_PROVIDER_GOOGLE_CLIENT_ID\`. In code they are members of \`google({ … })\`, \`github({ … })\`, \`apple({ … })\` and \`openid({ name, … })\` in \`signIn\`. The environment overrides code.

| In the environment | In code | |
|---|---|---|
${rowsOf(providerOptions)}
`
}

function described(name: OptionName, option: Option<unknown>): string {
  return `### ${option.env}

${option.text}

- In code: \`${name}\`
- Values: ${option.values}
- Default: ${defaultText(option)}
${option.secret === true ? `- Or in a file: \`${fileVariable(option.env)}\` ([secrets in files](#secrets-in-files))\n- Its secret part appears in no log and on no page.\n` : ''}`
}

function defaultText(option: Option<unknown>): string {
  if (option.defaultText !== undefined) return option.defaultText
  const [development, production] = (['development', 'production'] as const).map((mode) => shown(option, mode))
  return development === production ? `${development}` : `${development} in development, ${production} in production`
}

function shown(option: Option<unknown>, mode: Mode): string {
  const value = defaultOf(option, mode)
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? '`1`' : '`0`'
  if (Array.isArray(value)) return code(value.join(','))
  return code(typeof value === 'string' ? value : JSON.stringify(value))
}

function code(text: string): string {
  return `\`${text}\``
}
