/** Runs `troupe` commands in a new folder for each test. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach } from 'node:test'
import { type Ending, type Program, Workplace } from './program.ts'

export const plain = `import { troupe } from 'troupe'
export default troupe({ type: 'urn:actingweb:example.com:plain', name: 'plain' })
`

/** An application whose action `slow` prints that it began and responds as soon as the file \`gate\` exists. */
export const slow = `import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { troupe } from 'troupe'
const app = troupe({ type: 'urn:actingweb:example.com:slow', name: 'slow' })
app.action('slow', async ({ actor }) => {
  console.log('slow began')
  // Real time: the test opens the gate by creating a file.
  while (!existsSync('gate')) await setTimeout(5)
  await actor.set('done', 'yes')
  return { done: true }
})
export default app
`

export const key = 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E'
export const free = { PORT: '0' }
export const unfit =
  'Cannot decrypt the secrets in the database: TROUPE_SECRET_KEYS did not encrypt them. Either set the keys that encrypted them, or use another database.'

/** The folder of the running test, with the application `app.ts`. */
export let place: Workplace

/** Makes a folder for each test of the file. */
export function placeForEachTest(): void {
  beforeEach(() => {
    place = new Workplace()
    place.write('app.ts', plain)
  })
  afterEach(() => place.remove())
}

export interface Created {
  readonly id: string
  readonly authorization: string
}

export async function createActor(url: string): Promise<Created> {
  const answer = await fetch(`${url}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"creator":"ada@example.com"}',
  })
  assert.equal(answer.status, 201)
  const { id, creator, passphrase } = (await answer.json()) as { id: string; creator: string; passphrase: string }
  return { id, authorization: `Basic ${Buffer.from(`${creator}:${passphrase}`).toString('base64')}` }
}

export async function start(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ program: Program; url: string }> {
  const program = place.start(args, { env: { ...free, ...env } })
  const [, url = ''] = await program.prints(/(?:is ready at|listening at) (http:\/\/[^ )\n]+:\d+)/)
  return { program, url }
}

/** The program failed with exactly one sentence on stderr. */
export function assertRefused(ending: Ending, sentence: string): void {
  assert.equal(ending.stderr, `${sentence}\n`)
  assert.equal(ending.stdout, '')
  assert.equal(ending.code, 1)
}
