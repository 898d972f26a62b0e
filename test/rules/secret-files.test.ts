import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ConfigError } from '../../src/config/config.ts'
import type { Environment } from '../../src/config/env.ts'
import { providerVariables } from '../../src/config/provider-options.ts'
import { serviceVariables } from '../../src/config/service-options.ts'
import { resolveConfig } from '../../src/features/config.ts'
import { configuredServices } from '../../src/connection/configured.ts'
import { configuredProviders } from '../../src/sign-in/configured.ts'
import { testKeys } from '../support/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-secret-files-'))
after(() => rmSync(folder, { recursive: true }))

function fileWith(content: string): string {
  const path = join(folder, `secret-${Math.random()}`)
  writeFileSync(path, content)
  return path
}

const replicas = 'postgres://u:planted-secret@one/d'

/** Every secret setting of the service, with a valid value and its result. */
const settings: readonly (readonly [name: string, env: string, text: string, value: unknown])[] = [
  ['database', 'DATABASE_URL', 'postgres://u:planted-secret@host/d', 'postgres://u:planted-secret@host/d'],
  ['readReplicas', 'TROUPE_READ_REPLICAS', replicas, [replicas]],
  ['secretKeys', 'TROUPE_SECRET_KEYS', testKeys, testKeys],
  ['botToken', 'TROUPE_BOT_TOKEN', 'planted-bot-token', 'planted-bot-token'],
  ['metricsToken', 'TROUPE_METRICS_TOKEN', 'planted-metrics-token', 'planted-metrics-token'],
  ['filesSecretAccessKey', 'TROUPE_FILES_SECRET_ACCESS_KEY', 'planted/files+key', 'planted/files+key'],
  ['exportsSecretAccessKey', 'TROUPE_EXPORTS_SECRET_ACCESS_KEY', 'planted/exports+key', 'planted/exports+key'],
]

const development = { TROUPE_MODE: 'development' }

const settingOf = (name: string, env: Environment): unknown =>
  ({ ...resolveConfig({}, { ...development, ...env }) })[name as 'database']

function refusalOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    assert.doesNotMatch(error.message, /planted/)
    return error.message
  }
  assert.fail('it was not refused')
}

/** Reads a secret of a provider and of a third-party service. */
const named: readonly (readonly [variable: string, read: (env: Environment) => string | undefined])[] = [
  ['TROUPE_PROVIDER_ACME_MOBILE_CLIENT_SECRET', (env) => providerVariables.read(env).get('acme-mobile')?.clientSecret],
  ['TROUPE_PROVIDER_APPLE_PRIVATE_KEY', (env) => providerVariables.read(env).get('apple')?.privateKey],
  ['TROUPE_SERVICE_DROPBOX_CLIENT_SECRET', (env) => serviceVariables.read(env).get('dropbox')?.clientSecret],
]

const all: readonly (readonly [variable: string, text: string, value: unknown, read: (env: Environment) => unknown])[] =
  [
    ...settings.map(
      ([name, env, text, value]) => [env, text, value, (given: Environment) => settingOf(name, given)] as const,
    ),
    ...named.map(([env, read]) => [env, 'planted secret', 'planted secret', read] as const),
  ]

describe('a secret in a file', () => {
  for (const [variable, text, value, read] of all) {
    it(`is the setting ${variable} without the final line break`, () => {
      for (const ending of ['', '\n', '\r\n'])
        assert.deepEqual(read({ [`${variable}_FILE`]: fileWith(`${text}${ending}`) }), value)
      assert.deepEqual(read({ [`${variable}_FILE`]: '', [variable]: text }), value)
    })

    it(`prevents the start when it is given with ${variable}, empty or unreadable, and its content is not printed (OPS-10)`, () => {
      const file = `${variable}_FILE`
      assert.equal(
        refusalOf(() => read({ [variable]: text, [file]: fileWith(text) })),
        `Both ${variable} and ${file} are set: remove one of them.`,
      )
      for (const content of ['', '\n', ' \n']) {
        const path = fileWith(content)
        assert.equal(
          refusalOf(() => read({ [file]: path })),
          `${file} names an empty file: ${path}. Write the secret into it.`,
        )
      }
      const missing = join(folder, 'missing')
      assert.equal(
        refusalOf(() => read({ [file]: missing })),
        `${file} cannot be read: ${missing} (ENOENT). The user of the service needs the right to read this file.`,
      )
      const directory = join(folder, 'directory')
      mkdirSync(directory, { recursive: true })
      assert.equal(
        refusalOf(() => read({ [file]: directory })),
        `${file} cannot be read: ${directory} (EISDIR). The user of the service needs the right to read this file.`,
      )
    })
  }

  it('is not printed when it is in the variable of the file (OPS-10)', () => {
    const misplaced = [
      'postgres://u:planted@host/d',
      'smtps://u:planted@mail.example.com',
      'k1:planted-mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E',
      'planted/files+key',
      '-----BEGIN PRIVATE KEY-----\nplanted\n-----END PRIVATE KEY-----',
      '/postgres://u:planted@host/d',
      './\npostgres://u:planted@host/d',
    ]
    const smtp = ['TROUPE_SMTP_URL', 'planted', null, (env: Environment) => settingOf('smtpUrl', env)] as const
    for (const [variable, text, , read] of [...all, smtp])
      for (const secret of [text, ...misplaced]) {
        const message = refusalOf(() => read({ [`${variable}_FILE`]: secret }))
        assert.equal(
          message,
          `${variable}_FILE cannot be read (ENOENT). It must be the path of a file that contains the secret: /run/secrets/…`,
        )
        assert.ok(!message.includes(secret))
      }
  })

  it('has its path in a refusal when the path begins as one', () => {
    for (const path of ['/none', './none', '../none', 'C:/none', 'c:\\none', '/one:two/none'])
      assert.equal(
        refusalOf(() => settingOf('botToken', { TROUPE_BOT_TOKEN_FILE: path })),
        `TROUPE_BOT_TOKEN_FILE cannot be read: ${path} (ENOENT). The user of the service needs the right to read this file.`,
      )
  })

  it('names its variable when the content is invalid, without the content (OPS-10)', () => {
    const wrong: readonly (readonly [variable: string, content: string, sentence: string])[] = [
      ['DATABASE_URL', 'mysql://planted', 'must be sqlite:<file> or postgres://<user>@<host>/<database>.'],
      ['TROUPE_METRICS_TOKEN', 'planted', 'must have 16 characters or more.'],
      ['TROUPE_READ_REPLICAS', 'planted', 'must be PostgreSQL URLs: postgres://<user>@<host>/<database>.'],
    ]
    for (const [variable, content, sentence] of wrong)
      assert.equal(
        refusalOf(() => resolveConfig({}, { ...development, [`${variable}_FILE`]: fileWith(content) })),
        `${variable}_FILE ${sentence}`,
      )
  })

  it('takes precedence over code, as the environment does', () => {
    const botToken = fileWith('from the file\n')
    assert.equal(
      resolveConfig({ botToken: 'from code' }, { ...development, TROUPE_BOT_TOKEN_FILE: botToken }).botToken,
      'from the file',
    )
  })

  it('configures a provider and a third-party service', () => {
    const secret = fileWith('planted secret\n')
    const [provider] = configuredProviders(
      [],
      {
        TROUPE_PROVIDERS: 'github',
        TROUPE_PROVIDER_GITHUB_CLIENT_ID: 'id',
        TROUPE_PROVIDER_GITHUB_CLIENT_SECRET_FILE: secret,
      },
      { allowHttp: false },
    )
    assert.equal(provider?.name, 'github')
    const service = configuredServices(
      new Map(),
      {
        TROUPE_SERVICES: 'dropbox',
        TROUPE_SERVICE_DROPBOX_CLIENT_ID: 'id',
        TROUPE_SERVICE_DROPBOX_CLIENT_SECRET_FILE: secret,
        TROUPE_SERVICE_DROPBOX_AUTHORIZATION_URL: 'https://dropbox.example/authorize',
        TROUPE_SERVICE_DROPBOX_TOKEN_URL: 'https://dropbox.example/token',
      },
      { allowHttp: false },
    ).get('dropbox')
    assert.equal(service?.clientSecret, 'planted secret')
  })

  it('does not exist for other settings', () => {
    for (const name of [
      'TROUPE_ADMINS_FILE',
      'TROUPE_PROVIDER_GITHUB_CLIENT_ID_FILE',
      'TROUPE_METRICS_TOKEN_FILE_FILE',
    ])
      assert.equal(
        refusalOf(() => resolveConfig({}, { ...development, [name]: fileWith('x') })),
        `Unknown environment variable ${name}: check its spelling in docs/configuration.md, or remove it.`,
      )
  })

  it('of an unknown provider is refused by the name of its variable', () => {
    assert.equal(
      refusalOf(() =>
        configuredProviders([], { TROUPE_PROVIDER_ACME_CLIENT_SECRET_FILE: fileWith('planted') }, { allowHttp: false }),
      ),
      'TROUPE_PROVIDER_ACME_CLIENT_SECRET_FILE belongs to an unknown provider: TROUPE_PROVIDERS does not name acme.',
    )
  })
})
