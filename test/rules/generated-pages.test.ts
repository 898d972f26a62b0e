import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { allOptions as options } from '../../src/features/config.ts'
import { pages } from '../../tools/docs.ts'

const root = dirname(dirname(import.meta.dirname))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

describe('the generated pages', () => {
  for (const [file, page] of Object.entries(pages)) {
    it(`contain the current output of \`npm run docs\` in docs/${file}`, () => {
      assert.equal(read(`docs/${file}`), page())
    })
  }

  it('describe every option by both of its names', () => {
    const text = read('docs/configuration.md')
    for (const [name, { env }] of Object.entries(options)) {
      assert.ok(text.includes(`\n### ${env}\n`), env)
      assert.ok(text.includes(`\n- In code: \`${name}\`\n`), name)
    }
    assert.match(
      text,
      /### PORT\n\nThe port to listen on; 0 chooses a free port\.\n\n- In code: `port`\n- Values: whole number from 0 to 65535\n- Default: `3000`\n/,
    )
    assert.match(
      text,
      /### TROUPE_MAX_BODY_BYTES\n[^#]*- Values: whole number from 1024 to 268435456, in bytes\n- Default: `2097152`\n/,
    )
  })

  it('begin the settings with the nine of a normal deployment, and have each setting once', () => {
    const text = read('docs/configuration.md')
    const [, first = ''] = text.split('\n## ')
    assert.deepEqual(
      [...first.matchAll(/^\| \[`(\w+)`\]/gm)].map(([, setting]) => setting),
      [
        'BASE_URL',
        'TROUPE_SECRET_KEYS',
        'DATABASE_URL',
        'PORT',
        'TROUPE_TRUSTED_PROXIES',
        'TROUPE_PROVIDERS',
        'TROUPE_ADMINS',
        'TROUPE_FILES',
        'TROUPE_BACKUPS',
      ],
    )
    const settings = [...text.matchAll(/^### (\w+)$/gm)].map(([, setting]) => setting)
    assert.equal(settings.length, Object.keys(options).length)
    assert.deepEqual(new Set(settings), new Set(Object.values(options).map(({ env }) => env)))
  })

  it('name the callers and the responses of a route', () => {
    const text = read('docs/api.md')
    assert.match(
      text,
      /### `POST \/`\n\nCreates an actor\.\n\n- Who: anyone\n- Body: `application\/json`, `application\/x-www-form-urlencoded`\n- 201: /,
    )
    assert.match(
      text,
      /### `GET \/<actor>`\n[^#]*- Who: the creator[^#]*- 302: Where a browser goes\n- Refused with 401, 403, 404\n/,
    )
    for (const [, path = '', callers = ''] of text.matchAll(/^### `\w+ (\/admin\S*)`\n[^#]*?- Who: (.*)$/gm))
      assert.equal(callers, path === '/admin/first' ? 'anyone' : 'an operator, in a session', path)
    assert.equal(text.match(/^- Who: an operator, in a session$/gm)?.length, 8)
    assert.match(text, /### `GET \/<actor>\/properties`\n[^#]*- `\?format=` "full" adds the items of lists/)
  })
})
