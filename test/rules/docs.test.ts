import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { judgeDelivery } from '../../src/outbox/policy.ts'
import { allOptions as options } from '../../src/features/config.ts'
import type { Option } from '../../src/config/option.ts'
import { providerVariables } from '../../src/config/provider-options.ts'
import { serviceVariables } from '../../src/config/service-options.ts'
import { templateNames } from '../../src/features/pages.ts'
import { compile } from '../support/compile-application.ts'
import { freePort } from '../support/free-port.ts'
import { environmentWithoutSettings, type Program, Workplace } from '../support/program.ts'

const root = dirname(dirname(import.meta.dirname))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const documents = (await Array.fromAsync(glob('**/*.md', { cwd: root, exclude: ['node_modules', 'dist', 'data'] })))
  .map((path) => path.replaceAll('\\', '/'))
  .toSorted()

/** The fenced blocks of a page or of one section of the page. */
function blocksOf(text: string, section?: string): { language: string; text: string }[] {
  const part = section === undefined ? text : text.split(/^## /m).find((one) => one.startsWith(`${section}\n`))
  assert.ok(part !== undefined, `Cannot find section "${section}"`)
  return [...part.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', body = '']) => ({
    language,
    text: body,
  }))
}

const codeOf = (text: string, language: string): string =>
  blocksOf(text)
    .filter((block) => block.language === language)
    .map((block) => block.text)
    .join('\n')

const applications = [
  'README.md',
  'docs/ai-clients.md',
  'docs/application.md',
  'docs/embedding.md',
  'docs/pages.md',
  'docs/peers.md',
  'docs/sign-in.md',
]
let errors: readonly string[] | undefined

/** The errors of the compiler about the application of a document. One run is for all, because it reads the package each time. */
function errorsIn(document: string): string {
  const nameOf = (path: string): string => path.replaceAll(/[^a-z]/gi, '-')
  assert.ok(applications.includes(document), document)
  if (errors === undefined) {
    const all = new Workplace()
    for (const path of applications) all.write(`${nameOf(path)}.ts`, codeOf(read(path), 'ts'))
    errors = compile(all).split('\n')
    void all.remove()
  }
  return errors.filter((line) => line.startsWith(`${nameOf(document)}.ts(`)).join('\n')
}

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

async function serve(module: string): Promise<{ url: string; program: Program }> {
  const program = place.start(['dev', module], { env: { PORT: '0' } })
  const [, url = ''] = await program.prints(/is ready at (http:\/\/localhost:\d+)/)
  return { url, program }
}

async function bash(script: string, env: Record<string, string> = {}): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd: place.folder,
    env: { ...environmentWithoutSettings(), ...env },
  })
  assert.equal(stderr, '')
  return stdout
}

interface Created {
  readonly id: string
  readonly creator: string
  readonly passphrase: string
}

async function createActor(url: string, creator = 'ada@example.com'): Promise<{ actor: Created; call: Call }> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ creator }),
  })
  const actor = (await answer.json()) as Created
  const authorization = `Basic ${Buffer.from(`${actor.creator}:${actor.passphrase}`).toString('base64')}`
  return {
    actor,
    call: async (method, path, body) => {
      const given = await fetch(`${url}/${actor.id}${path}`, {
        method,
        headers: { authorization, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await given.text()
      return text === '' ? given.status : (JSON.parse(text) as unknown)
    },
  }
}

type Call = (method: string, path: string, body?: unknown) => Promise<unknown>

describe('the documents', () => {
  it('all exist', () => {
    for (const path of [
      'README.md',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'SECURITY.md',
      'docs/README.md',
      'docs/ai-clients.md',
      'docs/api.md',
      'docs/application.md',
      'docs/architecture.md',
      'docs/configuration.md',
      'docs/operations.md',
      'docs/pages.md',
      'docs/peers.md',
      'docs/scaling.md',
      'docs/sign-in.md',
    ]) {
      assert.ok(documents.includes(path), path)
    }
  })

  it('are all linked by task from docs/README.md', () => {
    const start = read('docs/README.md')
    for (const page of readdirSync(join(root, 'docs'))) {
      if (page.endsWith('.md') && page !== 'README.md') assert.ok(start.includes(`](${page}`), page)
    }
    for (const folder of ['spec', 'decisions']) assert.ok(start.includes(`](${folder}/README.md)`), folder)
  })

  it('define each term of the glossary once, in alphabetical order', () => {
    const terms = [...read('docs/glossary.md').matchAll(/^\| (.+) \| .+ \|$/gm)].map(([, term = '']) => term).slice(1)
    assert.ok(terms.length >= 60)
    const compare = (a: string, b: string): number => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)
    assert.deepEqual(terms, [...new Set(terms)].toSorted(compare))
  })

  it('list every decision record by its title', () => {
    const index = read('docs/decisions/README.md')
    const records = readdirSync(join(root, 'docs/decisions')).filter((name) => /^\d{3}-/.test(name))
    assert.ok(records.length >= 17)
    const entries = [...index.matchAll(/^- \[(.+)\]\((\d{3}-[^)]+)\)$/gm)].map(([, title, file]) => [file, title])
    assert.deepEqual(
      entries,
      records.toSorted().map((file) => [file, read(`docs/decisions/${file}`).split('\n')[0]?.replace('# ', '')]),
    )
  })

  it('name only settings that exist', () => {
    const known = new Set<string>(
      Object.values<Option<unknown>>(options).flatMap(({ env, secret }) =>
        secret === true ? [env, `${env}_FILE`] : [env],
      ),
    )
    for (const path of documents) {
      for (const [name] of read(path).matchAll(/\bTROUPE_[A-Z_]+\b/g)) {
        const isOfProvider = providerVariables.has(name) || name === 'TROUPE_PROVIDER_'
        const isOfService = serviceVariables.has(name) || name === 'TROUPE_SERVICE_'
        assert.ok(
          known.has(name) || isOfProvider || isOfService || name.startsWith('TROUPE_TEST_'),
          `${path} names ${name}`,
        )
      }
    }
  })

  it('name each table that cannot be partitioned by actor', () => {
    const folder = join(root, 'src', 'store', 'migrations')
    const sql = readdirSync(folder)
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .join('\n')
    const sharding = read('docs/scaling.md').split('## Sharding')[1] ?? ''
    const others: string[] = []
    for (const [, table = '', body = ''] of sql.matchAll(/^CREATE TABLE (\w+) \((.*?)^\)/gms)) {
      const key = /PRIMARY KEY \((\w+)/.exec(body)?.[1] ?? /^\s*(\w+) [^\n]*PRIMARY KEY/m.exec(body)?.[1]
      if (key === 'actor_id' || ['actor', 'deleted_actor'].includes(table)) continue
      others.push(table)
      assert.ok(sharding.includes(`\`${table}\``), `docs/scaling.md does not name the table ${table}`)
    }
    assert.ok(others.includes('property_lookup') && others.includes('creator'))
  })
})

describe('the README', () => {
  it('has a five-minute tour whose commands print the documented output', async () => {
    symlinkSync(join(root, 'examples'), place.path('examples'), 'junction')
    const { url } = await serve('examples/notes/app.ts')
    const blocks = blocksOf(read('README.md'), 'Five minutes with curl')
    const [first] = blocks
    assert.match(first?.text ?? '', /^url=http:\/\/localhost:3000\n/)
    const script = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)
    const said = blocks.filter(({ language }) => language === 'text').map(({ text }) => text)
    assert.deepEqual([script.length, said.length], [5, 4])
    const output = await bash(script.join('\n').replace('http://localhost:3000', url))
    assert.equal(output, said.join(''))
  })

  it('contains the two commands that package.json has', () => {
    const commands = blocksOf(read('README.md'), 'Start').map(({ text }) => text.trim())
    assert.deepEqual(commands, ['npm install && npm start', 'npm install && npm test'])
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    assert.equal(scripts['start'], 'node --conditions=troupe-source bin/troupe.js dev examples/notes/app.ts')
    assert.equal(scripts['test'], 'node --conditions=troupe-source test/run.ts')
  })

  it('contains the URL at which AI clients connect', async () => {
    symlinkSync(join(root, 'examples'), place.path('examples'), 'junction')
    const section =
      read('README.md')
        .split(/^## /m)
        .find((one) => one.startsWith('With an AI client\n')) ?? ''
    assert.ok(section.includes('claude mcp add --transport http notes http://localhost:3000/mcp\n'))
    const { url } = await serve('examples/notes/app.ts')
    const answer = await fetch(`${url}/mcp`, { method: 'POST' })
    assert.equal(answer.status, 401)
    const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(answer.headers.get('www-authenticate') ?? '') ?? []
    const found = (await (await fetch(metadata)).json()) as { resource: string; authorization_servers: string[] }
    assert.deepEqual([found.resource, found.authorization_servers], [`${url}/mcp`, [url]])
  })

  it('contains an application that compiles and runs', async () => {
    place.write('app.ts', codeOf(read('README.md'), 'ts'))
    assert.equal(errorsIn('README.md'), '')
    const { url } = await serve('app.ts')
    const { call } = await createActor(url)
    assert.deepEqual(await call('POST', '/actions/sign', { name: 'Grace' }), { entry: 0 })
    assert.deepEqual(await call('POST', '/actions/sign', { name: '' }), {
      field: 'name',
      error: 'invalid_input',
      message: 'Cannot accept field "name": Too small: expected string to have >=1 characters',
    })
    assert.deepEqual(await call('GET', '/properties/guests'), [{ name: 'Grace' }])
    assert.match(JSON.stringify(await call('GET', '/properties')), /^\{"opened":"\d{4}-\d\d-\d\dT[\d:.]+Z",/)
  })
})

describe('the guide to pages', () => {
  const guide = read('docs/pages.md')

  it('contains applications that compile', () => {
    assert.equal(errorsIn('docs/pages.md'), '')
  })

  it('lists every replaceable page with its template', () => {
    for (const [page, template] of Object.entries(templateNames))
      assert.ok(guide.includes(`\n| \`${page}\` | \`${template}\` |`), page)
  })
})

describe('the guide to AI clients', () => {
  it('contains an application that compiles and starts', async () => {
    place.write('app.ts', codeOf(read('docs/ai-clients.md'), 'ts'))
    assert.equal(errorsIn('docs/ai-clients.md'), '')
    await serve('app.ts')
  })
})

describe('the guide to writing an application', () => {
  const guide = read('docs/application.md')

  it('consists of one application, which compiles', () => {
    assert.equal(errorsIn('docs/application.md'), '')
  })

  it('describes what the application does', async () => {
    place.write('app.ts', codeOf(guide, 'ts'))
    const { url } = await serve('app.ts')
    const { actor, call } = await createActor(url)
    const output = await bash(codeOf(guide, 'sh').replaceAll('curl ', 'curl -s '), {
      creator: actor.creator,
      passphrase: actor.passphrase,
      me: `${url}/${actor.id}`,
    })
    const loan = { title: 'Emma', to: 'bob@example.com', days: 14, back: false }
    assert.equal(output, `{"index":0}{"loans":[${JSON.stringify(loan)}]}`)
    assert.deepEqual(
      await call('POST', '/methods', { jsonrpc: '2.0', method: 'overdue', params: { days: 14 }, id: 1 }),
      {
        jsonrpc: '2.0',
        result: { loans: [] },
        id: 1,
      },
    )
    assert.deepEqual(await call('POST', '/actions/give_back', { index: 0 }), { done: true })
    assert.deepEqual(await call('GET', '/properties/loans/0'), { ...loan, back: true })
    assert.deepEqual(await call('POST', '/actions/give_back', { index: 7 }), {
      error: 'not_found',
      message: 'Cannot give back loan 7: it does not exist',
    })
    assert.deepEqual(await call('GET', '/properties/shelf'), [{ title: 'Emma' }, { title: 'Dubliners' }])
    assert.equal(await call('PUT', '/properties/email', ' Ada@Example.com '), 204)
    assert.equal(((await call('PUT', '/properties/email', 'nowhere')) as { error: string }).error, 'rejected')
    assert.equal(await call('PUT', '/properties/card_number', '4111 1111 1111 1234'), 204)
    assert.deepEqual(await call('GET', '/properties'), {
      card_number: '… 1234',
      email: 'ada@example.com',
      lent: { _list: true, count: 0 },
      loans: { _list: true, count: 1 },
      reader: { name: 'New reader', fines: 0 },
      shelf: { _list: true, count: 2 },
      visits: { _list: true, count: 0 },
      wishes: { _list: true, count: 0 },
    })
    assert.deepEqual(await call('GET', '/resources/catalogue'), { owner: 'ada@example.com', loans: 1 })
    const script = (await call('POST', '/actions/connect_script', {})) as Record<string, string>
    const tokens = await fetch(`${url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', ...script }),
    })
    assert.equal(tokens.status, 200)
    assert.deepEqual(await call('POST', '/methods/scripts', {}), {
      total: 1,
      active: 1,
      trustTypes: { mcp_client: 1 },
      names: ['My script'],
    })
    assert.equal(await call('DELETE', ''), 204)
  })

  it('explains exactly the names that the package exports', () => {
    const entries = ['src/index.ts', 'src/handles.ts', 'src/mcp.ts', 'src/pages.ts', 'src/feature.ts', 'src/testing.ts']
      .map(read)
      .join('\n')
    const exported = [...entries.matchAll(/^export (?:type )?\{([^}]*)\}/gms)]
      .flatMap(([, names = '']) => names.split(','))
      .map((name) => name.replace(/\btype\b/, '').trim())
      .filter((name) => name !== '')
    assert.ok(exported.length > 40)
    const table = guide.split('## All names')[1] ?? ''
    const rows = [...table.matchAll(/^\| ((?:`\w+`(?:, )?)+) \| \S/gm)]
    const explained = rows.flatMap(([, names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
    assert.deepEqual(explained.toSorted(), exported.toSorted())
  })

  it('says of the same names as the API report that they are experimental', () => {
    const report = read('docs/api/troupe.api.txt').split('# Declarations')[0] ?? ''
    const marked = [...report.matchAll(/^## experimental\n\n((?:\w+\n)+)/gm)].flatMap(([, names = '']) =>
      names.trim().split('\n'),
    )
    const rows = `${guide}\n${read('docs/client.md')}`.matchAll(/^\| ((?:`\w+`(?:, )?)+) \| Experimental: /gm)
    const said = [...rows].flatMap(([, names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
    assert.deepEqual(said.toSorted(), marked.toSorted())
  })
})

describe('the guide to embedding', () => {
  it('has a program that compiles, signs in its own user and finds the caller of its own routes', async () => {
    place.write('app.ts', codeOf(read('docs/embedding.md'), 'ts'))
    assert.equal(errorsIn('docs/embedding.md'), '')
    symlinkSync(join(root, 'node_modules', 'express'), place.path('node_modules/express'), 'junction')
    const env = { PORT: String(await freePort()), TROUPE_MODE: 'development' }
    const program = place.startFile(place.path('app.ts'), [], { env })
    const [, site = ''] = await program.prints(/^Ready at (.*)\/my$/m)
    const ask = async (method: string, path: string, cookie = ''): Promise<Response> =>
      fetch(site + path, { method, headers: { cookie, origin: site }, redirect: 'manual' })
    assert.equal((await ask('GET', '/orders')).status, 401)
    assert.equal((await ask('POST', '/enter')).status, 403)
    const entered = await ask('POST', '/enter', 'sid=s1')
    assert.equal(entered.status, 303)
    const cookie = entered.headers
      .getSetCookie()
      .map((line) => line.split(';', 1)[0])
      .join('; ')
    const { actor } = (await (await ask('GET', '/orders', cookie)).json()) as { actor: string }
    const shown = await ask('GET', `/my/${actor}/properties`, cookie)
    assert.deepEqual([shown.status, await shown.json()], [200, {}])
    assert.equal((await ask('POST', '/leave', cookie)).status, 204)
    assert.equal((await ask('GET', '/orders', cookie)).status, 401)
  })
})

describe('the guide to relationships between actors', () => {
  const guide = read('docs/peers.md')

  it('has a tour whose commands print the documented output, and an application that compiles', async () => {
    place.write('app.ts', codeOf(guide, 'ts'))
    assert.equal(errorsIn('docs/peers.md'), '')
    const { url } = await serve('app.ts')
    place.write(
      'npx',
      `#!/bin/sh\nshift\nexec node --conditions=troupe-source ${join(root, 'bin', 'troupe.js')} "$@"\n`,
    )
    chmodSync(place.path('npx'), 0o755)
    const script = codeOf(guide, 'sh').replace('http://localhost:3000', url)
    const output = await bash(script, {
      PATH: [place.folder, dirname(process.execPath), process.env['PATH']].join(':'),
      TROUPE_MODE: 'development',
    })
    assert.equal(output.replaceAll(/^\n/gm, ''), codeOf(guide, 'text').replaceAll(/^\n/gm, ''))
  })

  it('lists the outcomes of delivery attempts as the code judges them (R-SUB-10, SUB-07)', () => {
    const policy = { retryUnknown: true, circuitThreshold: 5, circuitCooldownMs: 60_000, giveUpAfterMs: 86_400_000 }
    const kinds = { delivered: 'delivered', waiting: 'retry', failed: 'failed', stopped: 'stop' } as const
    const rows = [...guide.matchAll(/^\| ((?:[^|]*)`\d{3}`[^|]*) \| \*\*(\w+)\*\*/gm)]
    assert.equal(rows.length, 6)
    for (const [, cases = '', word = ''] of rows) {
      for (const [, status = ''] of cases.matchAll(/`(\d{3})`/g)) {
        const outcome = { kind: 'answered', status: Number(status), headers: {}, body: '' } as const
        const attempted = { outcome, now: 0, attempts: 0, uncertain: 0, failingSince: null, random: 0.5 }
        assert.equal(judgeDelivery(attempted, policy).kind, kinds[word as keyof typeof kinds], status)
      }
    }
  })
})

describe('the guide to sign-in', () => {
  const guide = read('docs/sign-in.md')
  const secrets = {
    TROUPE_PROVIDER_GOOGLE_CLIENT_SECRET: 'a',
    TROUPE_PROVIDER_GITHUB_CLIENT_SECRET: 'b',
    TROUPE_PROVIDER_ACME_CLIENT_SECRET: 'c',
  }
  const privateKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  })

  it('contains an application with a provider of each kind, which compiles and starts (R-OC-15)', async () => {
    place.write('app.ts', codeOf(guide, 'ts'))
    place.write('AuthKey_F6G7H8J9K0.p8', privateKey)
    assert.equal(errorsIn('docs/sign-in.md'), '')
    const program = place.start(['dev', 'app.ts'], { env: { PORT: '0', ...secrets } })
    const [, url = ''] = await program.prints(/is ready at (http:\/\/localhost:\d+)/)
    const { oauth_providers: providers } = (await (await fetch(`${url}/oauth/config`)).json()) as {
      oauth_providers: { display_name: string; response_mode: string; platform: string }[]
    }
    assert.deepEqual(
      providers.map((provider) => [provider.display_name, provider.response_mode, provider.platform]),
      [
        ['Passkey', 'query', 'web'],
        ['Google', 'query', 'web'],
        ['GitHub', 'query', 'web'],
        ['Apple', 'form_post', 'web'],
        ['Acme', 'query', 'web'],
      ],
    )
  })

  it('contains the same providers as environment variables (R-OC-15)', async () => {
    place.write('app.ts', "import { troupe } from 'troupe'\nexport default troupe({ type: 'urn:x' })\n")
    place.write('AuthKey_F6G7H8J9K0.p8', privateKey)
    const env = Object.fromEntries(
      codeOf(guide, 'ini')
        .split('\n')
        .filter((line) => line !== '')
        .map((line): [string, string] => {
          const [name = '', ...value] = line.split('=')
          return [name, value.join('=')]
        }),
    )
    const program = place.start(['dev', 'app.ts'], { env: { PORT: '0', ...env } })
    const [, url = ''] = await program.prints(/is ready at (http:\/\/localhost:\d+)/)
    const { oauth_providers: providers } = (await (await fetch(`${url}/oauth/config`)).json()) as {
      oauth_providers: { display_name: string }[]
    }
    assert.deepEqual(
      providers.map((provider) => provider.display_name),
      ['Passkey', 'Google', 'GitHub', 'Apple', 'Acme'],
    )
  })
})

describe('the guide to operations', () => {
  it('contains a command that backs up the data of a running service', async () => {
    place.write('app.ts', "import { troupe } from 'troupe'\nexport default troupe({ type: 'urn:x' })\n")
    const { url } = await serve('app.ts')
    const { actor } = await createActor(url)
    const [command] = blocksOf(read('docs/operations.md'), 'Backups').filter(({ language }) => language === 'sh')
    const documented = command?.text.trim().split(' ') ?? []
    assert.deepEqual(documented.slice(0, 2), ['troupe', 'backup'])
    const copied = [...documented.slice(1, -1), 'monday']
    assert.equal((await place.run(copied)).code, 0)
    const copy = new DatabaseSync(place.path('monday/database.db'), { readOnly: true })
    assert.equal(copy.prepare('SELECT id FROM actor').get()?.['id'], actor.id)
    copy.close()
    assert.equal((await place.run(copied)).code, 1)
  })
})
