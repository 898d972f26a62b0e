import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ConfigError } from '../../src/config/config.ts'
import { resolveConfig } from '../../src/features/config.ts'
import { apple, github, google, openid, type ProviderDeclaration } from '../../src/index.ts'
import { configuredProviders, outsidePlans } from '../../src/sign-in/configured.ts'
import { build } from '../support/providers/configured.ts'

const pem = (curve = 'P-256'): string =>
  generateKeyPairSync('ec', { namedCurve: curve }).privateKey.export({ type: 'pkcs8', format: 'pem' })

const configured = (
  declared: readonly ProviderDeclaration[],
  env: Record<string, string> = {},
  allowHttp = false,
): readonly string[] => configuredProviders(declared, env, { allowHttp }).map(({ name }) => name)

const folder = mkdtempSync(join(tmpdir(), 'troupe-key-'))
after(() => rmSync(folder, { recursive: true }))

const both = { clientId: 'id', clientSecret: 'secret' }

describe('providers declared in code', () => {
  it('can be several, each with its own name, in the order of the declaration (R-OC-15)', () => {
    const { providers } = build([
      github(both),
      google(both),
      google({ ...both, name: 'google-mobile', clientId: 'mobile', deepLink: 'notes://signed-in' }),
      openid({ ...both, name: 'acme', issuer: 'https://id.acme.example' }),
    ])
    assert.deepEqual(
      providers.all.map(({ name, kind, displayName, platform, responseMode, deepLink }) => [
        name,
        kind,
        displayName,
        platform,
        responseMode,
        deepLink,
      ]),
      [
        ['github', 'github', 'GitHub', 'web', 'query', null],
        ['google', 'google', 'Google', 'web', 'query', null],
        ['google-mobile', 'google', 'Google', 'any', 'query', 'notes://signed-in'],
        ['acme', 'acme', 'Acme', 'web', 'query', null],
      ],
    )
  })

  it('have their endpoints and a redirect URI for their response mode (R-OC-03)', () => {
    const [web, form] = build([google(both), apple({ clientId: 'id', teamId: 'T', keyId: 'K', privateKey: pem() })])
      .providers.all
    assert.deepEqual(
      [web, form].map((provider) => [
        provider?.authorizationEndpoint,
        provider?.tokenEndpoint,
        provider?.userinfoEndpoint,
        provider?.responseMode,
        provider?.redirectUri,
      ]),
      [
        [
          'https://accounts.google.com/o/oauth2/v2/auth',
          'https://oauth2.googleapis.com/token',
          'https://www.googleapis.com/oauth2/v2/userinfo',
          'query',
          'https://notes.example.com/oauth/callback',
        ],
        [
          'https://appleid.apple.com/auth/authorize',
          'https://appleid.apple.com/auth/token',
          '',
          'form_post',
          'https://notes.example.com/oauth/callback/apple',
        ],
      ],
    )
  })

  it('accept every setting of a provider (R-OC-15)', () => {
    const [plan] = outsidePlans(
      configuredProviders(
        [
          google({
            ...both,
            scope: 'openid email',
            authUri: 'https://idp.example/auth',
            tokenUri: 'https://idp.example/token',
            userinfoUri: 'https://idp.example/me',
            redirectUri: 'https://notes.example.com/elsewhere',
            audiences: ['ios', 'android'],
            displayName: 'Work account',
            authorizationParameters: { prompt: 'select_account' },
          }),
        ],
        {},
        { allowHttp: false },
      ),
    )
    assert.ok(plan !== undefined && !('issuer' in plan.metadata))
    assert.deepEqual(plan.metadata.endpoints, {
      authorization: 'https://idp.example/auth',
      token: 'https://idp.example/token',
      userinfo: 'https://idp.example/me',
    })
    assert.deepEqual(
      [plan.scope, plan.redirectUri, plan.audiences, plan.displayName, plan.authorizationParameters],
      [
        'openid email',
        'https://notes.example.com/elsewhere',
        ['ios', 'android'],
        'Work account',
        { access_type: 'offline', prompt: 'select_account' },
      ],
    )
  })

  it('can be plain OAuth, with three URLs and without an issuer (R-OC-15)', () => {
    const plain = {
      ...both,
      name: 'forge',
      authUri: 'https://forge.example/authorize',
      tokenUri: 'https://forge.example/token',
      userinfoUri: 'https://forge.example/user',
    }
    assert.deepEqual(configured([openid(plain)]), ['forge'])
  })

  const refused: [string, readonly ProviderDeclaration[], RegExp][] = [
    ['a repeated name', [google(both), google(both)], /^Option signIn names the provider google twice\.$/],
    [
      'a name with other characters',
      [openid({ ...both, name: '../github', issuer: 'https://a.example' })],
      /^Option signIn: providers must have names such as google or acme-mobile; \.\.\/github is not a valid name\.$/,
    ],
    [
      'capital letters in a name',
      [openid({ ...both, name: 'GOOGLE', issuer: 'https://a.example' })],
      /; GOOGLE is not a valid name\.$/,
    ],
    [
      'a name with two suffixes',
      [google({ ...both, name: 'google-mobile-native' })],
      /^Option signIn: .*; google-mobile-native is not a valid name\.$/,
    ],
    [
      'no client id',
      [google({ clientSecret: 'x' })],
      /^The provider google needs clientId: give it in code, or as TROUPE_PROVIDER_GOOGLE_CLIENT_ID\.$/,
    ],
    [
      'neither secret nor audiences',
      [google({ clientId: 'id' })],
      /^The provider google needs clientSecret: .* TROUPE_PROVIDER_GOOGLE_CLIENT_SECRET\.$/,
    ],
    [
      'GitHub without secret',
      [github({ clientId: 'id', audiences: ['x'] })],
      /^The provider github needs clientSecret:/,
    ],
    [
      'an issuer over plain http',
      [openid({ ...both, name: 'acme', issuer: 'http://id.acme.example' })],
      /^Option signIn, acme: issuer must be an https address\.$/,
    ],
    [
      'an issuer that is not a URL',
      [openid({ ...both, name: 'acme', issuer: 'id.acme.example' })],
      /^Option signIn, acme: issuer must be an absolute address\.$/,
    ],
    [
      'a URL with a password',
      [google({ ...both, tokenUri: 'https://a:hunter2@idp.example/token' })],
      /^Option signIn, google: tokenUri must not carry a user name or password\.$/,
    ],
    [
      'a deep link that is a script',
      [google({ ...both, deepLink: 'javascript:alert(1)' })],
      /^Option signIn, google: deepLink must be an absolute address\.$/,
    ],
    [
      'no issuer and no endpoints',
      [openid({ ...both, name: 'acme' })],
      /^The provider acme needs issuer: .* TROUPE_PROVIDER_ACME_ISSUER\.$/,
    ],
    [
      'only one of the endpoints',
      [openid({ ...both, name: 'acme', authUri: 'https://a.example/auth', tokenUri: 'https://a.example/token' })],
      /^The provider acme needs userinfoUri: .* TROUPE_PROVIDER_ACME_USERINFO_URI\.$/,
    ],
    [
      'audiences without an issuer',
      [
        openid({
          ...both,
          name: 'acme',
          authUri: 'https://a.example/auth',
          tokenUri: 'https://a.example/token',
          userinfoUri: 'https://a.example/me',
          audiences: ['app'],
        }),
      ],
      /^Option signIn, acme: audiences need an issuer, which signs the id_tokens\.$/,
    ],
    [
      'a signature algorithm with a shared secret',
      [openid({ ...both, name: 'acme', issuer: 'https://a.example', algorithm: 'HS256' })],
      /^Option signIn, acme: algorithm must be one of RS256, /,
    ],
    [
      'no signature at all',
      [openid({ ...both, name: 'acme', issuer: 'https://a.example', algorithm: 'none' })],
      /^Option signIn, acme: algorithm must be one of /,
    ],
    [
      'Apple without team',
      [apple({ clientId: 'id', keyId: 'K', privateKey: pem() })],
      /^The provider apple needs teamId:/,
    ],
    [
      'Apple without key',
      [apple({ clientId: 'id', teamId: 'T', keyId: 'K' })],
      /^The provider apple needs privateKey: .* TROUPE_PROVIDER_APPLE_PRIVATE_KEY\.$/,
    ],
    [
      'a malformed key',
      [apple({ clientId: 'id', teamId: 'T', keyId: 'K', privateKey: 'very secret' })],
      /^Option signIn, apple: privateKey must be a private key in PEM\.$/,
    ],
    [
      'a key for another algorithm',
      [apple({ clientId: 'id', teamId: 'T', keyId: 'K', privateKey: pem('P-384') })],
      /^Option signIn, apple: privateKey must be a key for ES256 \(the curve P-256\)\.$/,
    ],
    [
      'a missing key file',
      [apple({ clientId: 'id', teamId: 'T', keyId: 'K', privateKeyPath: '/nowhere/key.p8' })],
      /^Option signIn, apple: privateKeyPath cannot be read: \/nowhere\/key\.p8\.$/,
    ],
  ]
  for (const [what, declared, message] of refused) {
    it(`stop the start with one sentence: ${what} (R-OC-15)`, () => {
      assert.throws(
        () => configured(declared),
        (error) =>
          error instanceof ConfigError && message.test(error.message) && !/hunter2|very secret/.test(error.message),
      )
    })
  }
})

describe('providers in the environment', () => {
  it('are the ones that TROUPE_PROVIDERS names, in its order, and Google, GitHub and Apple need only their names (R-OC-15)', () => {
    const env = {
      TROUPE_PROVIDERS: 'acme, google,github',
      TROUPE_PROVIDER_ACME_ISSUER: 'https://id.acme.example',
      TROUPE_PROVIDER_ACME_CLIENT_ID: 'a',
      TROUPE_PROVIDER_ACME_CLIENT_SECRET: 'b',
      TROUPE_PROVIDER_GOOGLE_CLIENT_ID: 'c',
      TROUPE_PROVIDER_GOOGLE_CLIENT_SECRET: 'd',
      TROUPE_PROVIDER_GITHUB_CLIENT_ID: 'e',
      TROUPE_PROVIDER_GITHUB_CLIENT_SECRET: 'f',
    }
    assert.deepEqual(
      configuredProviders([], env, { allowHttp: false }).map(({ name, displayName }) => [name, displayName]),
      [
        ['acme', 'Acme'],
        ['google', 'Google'],
        ['github', 'GitHub'],
      ],
    )
  })

  it('complete the settings in code, and take precedence over them (R-OC-15)', async () => {
    const [plan] = outsidePlans(
      configuredProviders(
        [google({ clientId: 'from code', scope: 'openid' })],
        {
          TROUPE_PROVIDER_GOOGLE_CLIENT_SECRET: 'from the environment',
          TROUPE_PROVIDER_GOOGLE_SCOPE: 'openid email',
          TROUPE_PROVIDER_GOOGLE_AUDIENCES: 'ios, android',
        },
        { allowHttp: false },
      ),
    )
    assert.deepEqual(
      [plan?.clientId, await plan?.clientSecret?.(0), plan?.scope, plan?.audiences],
      ['from code', 'from the environment', 'openid email', ['ios', 'android']],
    )
  })

  it('exclude every provider that a present TROUPE_PROVIDERS does not name (R-OC-15)', () => {
    assert.deepEqual(configured([google(both), github(both)], { TROUPE_PROVIDERS: 'github' }), ['github'])
    assert.deepEqual(configured([google(both), github(both)], { TROUPE_PROVIDERS: '' }), [])
  })

  it('can include a client for one platform, whose variables have an underscore in place of the hyphen (R-OC-11)', () => {
    const { providers } = build([], {
      env: {
        TROUPE_PROVIDERS: 'google-mobile',
        TROUPE_PROVIDER_GOOGLE_MOBILE_CLIENT_ID: 'ios',
        TROUPE_PROVIDER_GOOGLE_MOBILE_AUDIENCES: 'ios',
        TROUPE_PROVIDER_GOOGLE_MOBILE_DEEP_LINK: 'notes://signed-in',
      },
    })
    assert.deepEqual(
      providers.all.map(({ name, kind, deepLink, takesAssertions }) => [name, kind, deepLink, takesAssertions]),
      [['google-mobile', 'google', 'notes://signed-in', true]],
    )
  })

  it('can include the key of Apple in one line or in a file (R-OC-14)', () => {
    const file = join(folder, 'AuthKey.p8')
    const key = pem()
    writeFileSync(file, key)
    const common = {
      TROUPE_PROVIDERS: 'apple',
      TROUPE_PROVIDER_APPLE_CLIENT_ID: 'id',
      TROUPE_PROVIDER_APPLE_TEAM_ID: 'T',
      TROUPE_PROVIDER_APPLE_KEY_ID: 'K',
    }
    assert.deepEqual(configured([], { ...common, TROUPE_PROVIDER_APPLE_PRIVATE_KEY: key.replaceAll('\n', '\\n') }), [
      'apple',
    ])
    assert.deepEqual(configured([], { ...common, TROUPE_PROVIDER_APPLE_PRIVATE_KEY_PATH: file }), ['apple'])
  })

  const refused: [string, Record<string, string>, RegExp][] = [
    [
      'a variable of an unlisted provider',
      { TROUPE_PROVIDERS: '', TROUPE_PROVIDER_ACME_ISSUER: 'https://a.example' },
      /^TROUPE_PROVIDER_ACME_ISSUER belongs to an unknown provider: TROUPE_PROVIDERS does not name acme\.$/,
    ],
    [
      'an invalid name',
      { TROUPE_PROVIDERS: 'Google' },
      /^TROUPE_PROVIDERS must list names such as .*; Google is not a valid name\.$/,
    ],
    [
      'a name with two suffixes',
      { TROUPE_PROVIDERS: 'google-mobile-native' },
      /^TROUPE_PROVIDERS must contain names with at most one suffix; google-mobile-native has two\.$/,
    ],
    ['a repeated name', { TROUPE_PROVIDERS: 'google,google' }, /^TROUPE_PROVIDERS names google twice\.$/],
    [
      'a missing variable',
      { TROUPE_PROVIDERS: 'acme', TROUPE_PROVIDER_ACME_CLIENT_ID: 'id', TROUPE_PROVIDER_ACME_CLIENT_SECRET: 'top' },
      /^The provider acme needs issuer: give it in code, or as TROUPE_PROVIDER_ACME_ISSUER\.$/,
    ],
    [
      'an invalid value, with the name of the variable',
      {
        TROUPE_PROVIDERS: 'acme',
        TROUPE_PROVIDER_ACME_CLIENT_ID: 'id',
        TROUPE_PROVIDER_ACME_CLIENT_SECRET: 'top',
        TROUPE_PROVIDER_ACME_ISSUER: 'https://a.example',
        TROUPE_PROVIDER_ACME_RESPONSE_MODE: 'fragment',
      },
      /^TROUPE_PROVIDER_ACME_RESPONSE_MODE must be one of query, form_post\.$/,
    ],
    [
      'a URL over plain http',
      {
        TROUPE_PROVIDERS: 'google',
        TROUPE_PROVIDER_GOOGLE_CLIENT_ID: 'id',
        TROUPE_PROVIDER_GOOGLE_CLIENT_SECRET: 'top',
        TROUPE_PROVIDER_GOOGLE_TOKEN_URI: 'http://idp.example/token',
      },
      /^TROUPE_PROVIDER_GOOGLE_TOKEN_URI must be an https address\.$/,
    ],
  ]
  for (const [what, env, message] of refused) {
    it(`stop the start with one sentence that contains no secret: ${what} (R-OC-15)`, () => {
      assert.throws(
        () => configured([], env),
        (error) => error instanceof ConfigError && message.test(error.message) && !error.message.includes('top'),
      )
    })
  }

  it('stop the start with all that is missing or wrong of all providers, at once', () => {
    const problemsOf = (env: Record<string, string>): readonly string[] => {
      try {
        configured([], env)
      } catch (error) {
        assert.ok(error instanceof ConfigError)
        return error.problems
      }
      assert.fail('they were not refused')
    }
    const needs = (provider: string, setting: string, suffix: string): string =>
      `The provider ${provider} needs ${setting}: give it in code, or as TROUPE_PROVIDER_${provider.toUpperCase()}_${suffix}.`
    assert.deepEqual(
      problemsOf({
        TROUPE_PROVIDERS: 'google,acme,apple,passkey',
        TROUPE_PROVIDER_GOOGLE_TOKEN_URI: 'http://idp.example/token',
        TROUPE_PROVIDER_ACME_CLIENT_ID: 'id',
        TROUPE_PROVIDER_ACME_AUTH_URI: 'https://a.example/auth',
        TROUPE_PROVIDER_FORGE_ISSUER: 'https://forge.example',
        TROUPE_PROVIDER_PASSKEY_CLIENT_ID: 'id',
      }),
      [
        'TROUPE_PROVIDER_PASSKEY_CLIENT_ID has no effect: the only setting of the provider passkey is TROUPE_PROVIDER_PASSKEY_DEEP_LINK.',
        'TROUPE_PROVIDER_FORGE_ISSUER belongs to an unknown provider: TROUPE_PROVIDERS does not name forge.',
        needs('google', 'clientId', 'CLIENT_ID'),
        needs('google', 'clientSecret', 'CLIENT_SECRET'),
        'TROUPE_PROVIDER_GOOGLE_TOKEN_URI must be an https address.',
        needs('acme', 'clientSecret', 'CLIENT_SECRET'),
        needs('acme', 'tokenUri', 'TOKEN_URI'),
        needs('acme', 'userinfoUri', 'USERINFO_URI'),
        needs('apple', 'teamId', 'TEAM_ID'),
        needs('apple', 'keyId', 'KEY_ID'),
        needs('apple', 'clientId', 'CLIENT_ID'),
        needs('apple', 'privateKey', 'PRIVATE_KEY'),
      ],
    )
    assert.deepEqual(problemsOf({ TROUPE_PROVIDERS: 'Google,google-mobile-native' }), [
      'TROUPE_PROVIDERS must list names such as google or acme-mobile; Google is not a valid name.',
    ])
  })

  it('are unknown environment variables when they are misspelled (OPS-09)', () => {
    assert.throws(
      () => resolveConfig({}, { TROUPE_MODE: 'development', TROUPE_PROVIDER_GOOGLE_CLIENTID: 'x' }),
      /^ConfigError: Unknown environment variable TROUPE_PROVIDER_GOOGLE_CLIENTID: /,
    )
    assert.equal(
      resolveConfig({}, { TROUPE_MODE: 'development', TROUPE_PROVIDER_GOOGLE_CLIENT_ID: 'x' }).mode,
      'development',
    )
  })
})

describe('a provider found by name', () => {
  const { providers } = build([
    google({ ...both, audiences: ['ios'] }),
    github(both),
    github({ ...both, name: 'github-mobile', clientId: 'mobile', deepLink: 'notes://github' }),
  ])

  it('can also be found by the names of its platforms (R-OC-11)', () => {
    assert.deepEqual(
      ['google', 'google-mobile', 'google-native', 'github', 'github-native'].map((name) => {
        const found = providers.find(name)
        return [found?.name, found?.kind, found?.platform, found?.takesAssertions]
      }),
      [
        ['google', 'google', 'web', true],
        ['google-mobile', 'google', 'any', true],
        ['google-native', 'google', 'any', true],
        ['github', 'github', 'web', false],
        ['github-native', 'github', 'any', false],
      ],
    )
  })

  it('is the client that is configured for the platform (R-OC-11)', () => {
    assert.equal(providers.find('github-mobile')?.deepLink, 'notes://github')
    assert.equal(providers.find('github-native')?.deepLink, null)
  })

  for (const name of [
    'google-mobilex',
    'google-tablet',
    'google-',
    'google-mobile-native',
    'github-mobile-native',
    'github-mobile-mobile',
    'GOOGLE',
    'Google',
    'google ',
    ' google',
    '../github',
    'github/..',
    'github%00',
    '',
    '-mobile',
    '__proto__',
    'constructor',
    'apple',
    'apple-mobile',
  ]) {
    it(`does not exist for ${JSON.stringify(name)} (IDP-15, R-OC-11)`, () => {
      assert.equal(providers.find(name), null)
    })
  }
})

describe('the local provider for development', () => {
  it('is rejected in production', () => {
    assert.throws(
      () =>
        resolveConfig(
          { localSignIn: true },
          { BASE_URL: 'https://a.example', TROUPE_SECRET_KEYS: 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E' },
        ),
      /TROUPE_LOCAL_SIGN_IN cannot be on in production: it lets anyone sign in as any person\./,
    )
  })
})
