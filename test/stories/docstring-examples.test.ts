import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { compile } from '../support/compile-application.ts'
import { Workplace } from '../support/program.ts'

const root = dirname(dirname(import.meta.dirname))

interface Example {
  readonly file: string
  /** The text of a complete module. */
  readonly module: string
}

/** Finds each `@example` of the source: a fenced module, or one expression of what `troupe` exports. */
async function findExamples(): Promise<readonly Example[]> {
  const files = (await Array.fromAsync(glob('src/**/*.ts', { cwd: root }))).toSorted()
  return files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^ *\* @example(.*?)(?=^ *\*\/|^ *\* @)/gms)].map(
      ([, comment = '']) => {
        const text = comment.replaceAll(/^ *\* ?/gm, '').trim()
        const module = /^```ts\n(.*)```$/s.exec(text)?.[1]
        const [name = ''] = text.split('(', 1)
        return { file, module: module ?? `import { ${name} } from 'troupe'\nexport default ${text}\n` }
      },
    ),
  )
}

const examples = await findExamples()
const nameOf = ({ file }: Example): string => `${file.replaceAll(/\W/g, '-')}.ts`

describe('the examples in doc comments', () => {
  const place = new Workplace()
  before(() => {
    for (const example of examples) place.write(nameOf(example), example.module)
  })
  after(() => place.remove())

  it('are found in the expected files', () => {
    assert.deepEqual(
      examples.map(({ file }) => file),
      [
        'src/feature.ts',
        'src/index.ts',
        'src/pages.ts',
        'src/sign-in/email-link/email-link.ts',
        'src/sign-in/passkey/passkey-plan.ts',
        'src/sign-in/providers/apple.ts',
        'src/sign-in/providers/github.ts',
        'src/sign-in/providers/google.ts',
        'src/sign-in/providers/openid.ts',
        'src/testing.ts',
      ],
    )
  })

  it('compile', () => {
    assert.equal(compile(place), '')
  })

  for (const example of examples) {
    it(`run: ${example.file}`, async () => {
      const program = place.startFile(place.path(nameOf(example)))
      const { code, stderr } = await program.ended
      assert.deepEqual([code, stderr], [0, ''])
    })
  }

  it('store what the caller sent to the first application', async () => {
    const program = place.start(['dev', 'src-index-ts.ts'], { env: { PORT: '0' } })
    const [, url = ''] = await program.prints(/is ready at (http:\/\/localhost:\d+)/)
    const headers = { 'content-type': 'application/json' }
    const created = await fetch(url, { method: 'POST', headers, body: '{"creator":"ada@example.com"}' })
    const { id, passphrase } = (await created.json()) as { id: string; passphrase: string }
    const authorization = `Basic ${Buffer.from(`ada@example.com:${passphrase}`).toString('base64')}`
    const added = await fetch(`${url}/${id}/actions/add_note`, {
      method: 'POST',
      headers: { ...headers, authorization },
      body: '{"text":"Buy a violin"}',
    })
    assert.deepEqual([added.status, await added.json()], [200, { index: 0 }])
    const notes = await fetch(`${url}/${id}/properties/notes`, { headers: { authorization } })
    assert.deepEqual(await notes.json(), [{ text: 'Buy a violin' }])
  })
})
