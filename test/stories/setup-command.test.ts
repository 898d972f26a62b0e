import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parseEnv } from 'node:util'
import { answersOf } from '../../src/cli/project/setup.ts'
import { free, place, placeForEachTest } from '../support/cli.ts'

placeForEachTest()

describe('troupe setup', () => {
  it('writes the settings with generated secrets to a file of the owner alone, and the service starts with them', async () => {
    const { code, stdout, stderr } = await place.run([
      'setup',
      'troupe.env',
      '--address',
      'https://notes.example.com',
      '--database',
      'sqlite:./data/notes.db',
    ])
    assert.deepEqual([code, stderr], [0, ''])
    const path = place.path('troupe.env')
    assert.equal(statSync(path).mode & 0o777, 0o600)
    const settings = parseEnv(readFileSync(path, 'utf8')) as Record<string, string>
    assert.deepEqual(Object.keys(settings).toSorted(), [
      'BASE_URL',
      'DATABASE_URL',
      'PORT',
      'TROUPE_METRICS_TOKEN',
      'TROUPE_PROVIDERS',
      'TROUPE_SECRET_KEYS',
      'TROUPE_TRUSTED_PROXIES',
    ])
    assert.deepEqual(
      [
        settings['BASE_URL'],
        settings['DATABASE_URL'],
        settings['PORT'],
        settings['TROUPE_PROVIDERS'],
        settings['TROUPE_TRUSTED_PROXIES'],
      ],
      ['https://notes.example.com', 'sqlite:./data/notes.db', '8080', 'passkey', '1'],
    )
    for (const secret of ['TROUPE_SECRET_KEYS', 'TROUPE_METRICS_TOKEN'])
      assert.ok(!stdout.includes(settings[secret]?.slice(-20) ?? ''), secret)
    const program = place.start(['serve', 'app.ts'], { env: { ...settings, ...free } })
    await program.prints(/notes\.example\.com/)
    program.signal('SIGTERM')
    assert.equal((await program.ended).code, 0)
  })

  it('makes other secrets in each file, and never replaces a file or follows a link', async () => {
    const args = ['--address', 'https://notes.example.com']
    await place.run(['setup', 'one.env', ...args])
    await place.run(['setup', 'two.env', ...args])
    const [one = '', two = ''] = ['one.env', 'two.env'].map((file) => readFileSync(place.path(file), 'utf8'))
    const keysOf = (text: string): string | undefined => parseEnv(text)['TROUPE_SECRET_KEYS']
    assert.notEqual(keysOf(one), keysOf(two))
    symlinkSync(place.path('elsewhere.env'), place.path('link.env'))
    for (const file of ['one.env', 'link.env']) {
      const again = await place.run(['setup', file, ...args])
      assert.deepEqual(
        [again.code, again.stdout, again.stderr],
        [
          1,
          '',
          `Cannot set the service up: ${file} exists, and may have the only copy of the keys. Choose another file.\n`,
        ],
      )
    }
    assert.equal(readFileSync(place.path('one.env'), 'utf8'), one)
    assert.equal(existsSync(place.path('elsewhere.env')), false)
  })

  it('prints all that is missing at once, and fails', async () => {
    const { code, stdout } = await place.run([
      'setup',
      'troupe.env',
      '--address=https://notes.example.com',
      '--sign-in=passkey,google,email',
      '--database=postgres://notes:planted@db/notes',
      '--files=s3://bucket/files',
    ])
    assert.equal(code, 1)
    assert.doesNotMatch(stdout, /planted/)
    assert.deepEqual(stdout.split('\n').slice(1), [
      'Add to troupe.env before the service starts:',
      '- TROUPE_FILES names an S3-compatible store: set TROUPE_FILES_ACCESS_KEY_ID and TROUPE_FILES_SECRET_ACCESS_KEY.',
      '- The provider google needs clientId: give it in code, or as TROUPE_PROVIDER_GOOGLE_CLIENT_ID.',
      '- The provider google needs clientSecret: give it in code, or as TROUPE_PROVIDER_GOOGLE_CLIENT_SECRET.',
      '- Sign-in by email needs a way to send mail: set TROUPE_SMTP_URL and TROUPE_MAIL_FROM, or send the emails in a handler of sign_in_link_requested: app.on("sign_in_link_requested", …)',
      '',
    ])
  })

  it('warns about a password in an option, which other users can see, without the password', async () => {
    const warningOf = (flag: string): string =>
      `Other users of this machine can see the password in --${flag} in the list of processes. Without the option, the command asks for it.\n`
    const mail = ['--smtp=smtps://u:planted@mail.example.com', '--mail-from=notes@example.com']
    const cases: readonly (readonly [args: readonly string[], stderr: string])[] = [
      [['--database=postgres://u:planted@db/notes'], warningOf('database')],
      [mail, warningOf('smtp')],
      [['--database=postgres://u:planted@db/notes', ...mail], warningOf('database') + warningOf('smtp')],
      [['--database=postgres://u@db/notes'], ''],
      [['--database=sqlite:/data/troupe.db', '--smtp=smtp://mail', '--mail-from=notes@example.com'], ''],
    ]
    for (const [index, [args, warning]] of cases.entries()) {
      const { stdout, stderr } = await place.run([
        'setup',
        `warned-${index}.env`,
        '--address=https://notes.example.com',
        ...args,
      ])
      assert.equal(stderr, warning)
      assert.doesNotMatch(stdout, /planted/)
    }
  })

  it('fits the image with the commands of the README of a new project, and the proxies', async () => {
    const read = (path: string): string => readFileSync(new URL(`../../examples/${path}`, import.meta.url), 'utf8')
    const readme = read('new/README.md')
    const [, args = ''] = /^npx troupe (setup notes\.env .*)$/m.exec(readme) ?? []
    assert.equal((await place.run(args.split(' '))).code, 0)
    const settings = parseEnv(readFileSync(place.path('notes.env'), 'utf8'))
    const [, image = ''] = /^ENV (.*)$/m.exec(read('new/Dockerfile')) ?? []
    for (const name of ['PORT', 'DATABASE_URL']) assert.ok(image.split(' ').includes(`${name}=${settings[name]}`), name)
    assert.equal(settings['HOST'], undefined)
    assert.equal(settings['TROUPE_TRUSTED_PROXIES'], '1')
    assert.match(readme, /^docker run -p 127\.0\.0\.1:8080:8080 -v notes:\/data --env-file notes\.env notes$/m)
    assert.match(read('deploy/proxies/nginx.conf'), /^ {2}server 127\.0\.0\.1:8080;$/m)
  })

  it('refuses invalid options before it writes, without the value', async () => {
    const address = ['--address', 'https://notes.example.com']
    const refusals: readonly (readonly [args: readonly string[], sentence: string])[] = [
      [[], 'Cannot set the service up: --address is required.'],
      [['--address', 'notes.example.com'], 'Cannot set the service up: --address must be an http or https URL.'],
      [['--address', 'http://notes.example.com'], 'Cannot set the service up: --address must begin with https.'],
      [
        [...address, '--database', 'mysql://u:planted@db/notes'],
        'Cannot set the service up: --database must be sqlite:<file> or postgres://<user>@<host>/<database>.',
      ],
      ...['a b', 'a"b', "a'b", 'a#b', 'a$b', 'a\\b', 'a\nb'].map(
        (password) =>
          [
            [...address, '--database', `postgres://u:${password}@db/notes`],
            'Cannot set the service up: --database must not contain spaces, quotes, backslashes, # or $: percent-encode them in a URL.',
          ] as const,
      ),
      [
        [...address, '--sign-in', 'Google'],
        'Cannot set the service up: --sign-in TROUPE_PROVIDERS must list names such as google or acme-mobile; Google is not a valid name.',
      ],
      [[...address, '--smtp', 'smtps://mail.example.com'], 'Cannot set the service up: --mail-from is required.'],
      [[...address, '--port', '1'], 'Unknown option --port of troupe setup: troupe setup --help lists the options.'],
    ]
    for (const [args, sentence] of refusals) {
      const { code, stdout, stderr } = await place.run(['setup', 'troupe.env', ...args])
      assert.deepEqual([code, stdout, stderr], [1, '', `${sentence}\n`])
      assert.equal(existsSync(place.path('troupe.env')), false)
    }
    const { stderr } = await place.run(['setup'])
    assert.equal(stderr, 'Name the file for the settings: troupe setup troupe.env\n')
  })

  it('asks a person for what no option names, and again after an invalid answer', async () => {
    const said = ['', 'notes.example.com', 'https://notes.example.com', 'postgres://db/notes', '/srv/files', '', '']
    const asked: string[] = []
    const answers = await answersOf({ 'sign-in': 'google' }, async (question) => {
      asked.push(question)
      return said.shift() ?? ''
    })
    const address = 'Public https address of the service, such as https://notes.example.com: '
    assert.deepEqual(asked.slice(0, 3), [address, address, address])
    assert.equal(asked.length, 6)
    assert.deepEqual(
      [...answers],
      [
        ['BASE_URL', 'https://notes.example.com'],
        ['DATABASE_URL', 'postgres://db/notes'],
        ['TROUPE_FILES', '/srv/files'],
        ['TROUPE_PROVIDERS', 'google'],
      ],
    )
  })
})
