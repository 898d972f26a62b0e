/** `troupe dev` loads the application again when its files change. */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { readSetCookie } from '../../src/testing/browser.ts'
import { type Program, Workplace } from '../support/program.ts'
import { until } from '../support/until.ts'

const app = `import { troupe } from 'troupe'
import { word } from './words/word.ts'
const app = troupe({ type: 'urn:actingweb:example.com:dev', name: 'dev' })
app.action('say', () => ({ word }))
app.action('crash', () => {
  setImmediate(() => { throw new Error('The cellar is empty') })
  return {}
})
export default app
`

let place: Workplace
beforeEach(() => {
  place = new Workplace()
  place.write('words/word.ts', "export const word: string = 'one'\n")
  place.write('app.ts', app)
})
afterEach(() => place.remove())

interface Running {
  readonly program: Program
  readonly url: string
  readonly path: string
  readonly authorization: string
}

async function start(): Promise<Running> {
  const program = place.start(['dev', 'app.ts'], { env: { PORT: '0' } })
  const [, url = ''] = await program.prints(/is ready at (http:\/\/[^ \n]+)/)
  const created = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"creator":"ada@example.com"}',
  })
  const { id, passphrase } = (await created.json()) as { id: string; passphrase: string }
  const authorization = `Basic ${Buffer.from(`ada@example.com:${passphrase}`).toString('base64')}`
  return { program, url, path: `${url}/${id}`, authorization }
}

const call = (running: Running, action: string): Promise<Response> =>
  fetch(`${running.path}/actions/${action}`, {
    method: 'POST',
    headers: { authorization: running.authorization, 'content-type': 'application/json' },
    body: '{}',
  })

async function said(running: Running): Promise<unknown> {
  return ((await (await call(running, 'say')).json()) as { word: unknown }).word
}

/** Waits for the n-th reload. */
const reloaded = (program: Program, times = 1): Promise<RegExpExecArray> =>
  program.prints(new RegExp(`(?:Reloaded in \\d+ ms: [^\\n]+ changed\\n[^]*){${times}}`))

/** Signs in at the local provider as a browser does, and returns the cookies of the service. */
async function signIn(url: string): Promise<string> {
  const jars = new Map<string, Map<string, string>>()
  let address = `${url}/oauth/login/local`
  let form: string | undefined
  for (let step = 0; step < 12; step += 1) {
    const { origin } = new URL(address)
    const jar = jars.get(origin) ?? new Map<string, string>()
    jars.set(origin, jar)
    const answer = await fetch(address, {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: [...jar].map((pair) => pair.join('=')).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams({ email: form }) }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const { name, value } = readSetCookie(line)
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    const location = answer.headers.get('location')
    form = location === null ? 'eve@example.com' : undefined
    if (location !== null) address = new URL(location, address).href
    if (address.includes('/www')) return [...jar].map((pair) => pair.join('=')).join('; ')
  }
  throw new Error(`The sign-in did not end: ${address}`)
}

describe('troupe dev', () => {
  it('loads the application again when a file changes, and keeps the address, the data and the sign-in', async () => {
    const running = await start()
    const { program, url } = running
    const cookie = await signIn(url)
    const page = async (): Promise<number> =>
      (await fetch(`${url}/oauth/session`, { headers: { cookie, 'sec-fetch-site': 'same-origin' } })).status
    assert.equal(await page(), 200)
    assert.equal(await said(running), 'one')
    place.write('words/word.ts', "export const word: string = 'two'\n")
    assert.match((await reloaded(program))[0], /Reloaded in \d+ ms: word\.ts changed\n/)
    assert.equal(await said(running), 'two')
    assert.equal(await page(), 200)
    place.write('app.ts', app.replace('({ word })', "({ word: word + '!' })"))
    await reloaded(program, 2)
    assert.equal(await said(running), 'two!')
  })

  it('keeps serving when the new code is broken, and says why', async () => {
    const running = await start()
    const { program } = running
    place.write('words/word.ts', 'export const word: string = \n')
    await program.prints(/Still serving the version before\. Waiting for a change of the files\.\n/)
    assert.equal(await said(running), 'one')
    place.write('words/word.ts', "export const word: string = 'fixed'\n")
    await reloaded(program)
    assert.equal(await said(running), 'fixed')
    program.signal('SIGINT')
    const { stderr } = await program.ended
    assert.match(stderr, /^Cannot load \S+app\.ts: [^\n]+ \(\S+word\.ts:1\)\n$/)
  })

  it('keeps serving when a declaration or a file is missing, and notices the file', async () => {
    const running = await start()
    const { program } = running
    place.write('app.ts', app.replace("name: 'dev'", 'maxJsonDepth: 1'))
    await program.prints(/Still serving the version before/)
    assert.equal(await said(running), 'one')
    rmSync(place.path('words/word.ts'))
    place.write('app.ts', app.replace('./words/word.ts', './other.ts'))
    await program.prints(/(?:Still serving the version before[^]*){2}/)
    place.write('other.ts', "export const word: string = 'other'\n")
    await reloaded(program)
    assert.equal(await said(running), 'other')
  })

  it('waits for a change after an error that ends the application', async () => {
    const running = await start()
    const { program } = running
    assert.equal((await call(running, 'crash')).status, 200)
    await program.prints(/Nothing is served\. Waiting for a change of the files\.\n/)
    place.write('words/word.ts', "export const word: string = 'again'\n")
    await reloaded(program)
    assert.equal(await said(running), 'again')
    program.signal('SIGTERM')
    const { code, stderr } = await program.ended
    assert.equal(code, 0)
    assert.match(
      stderr,
      /FATAL Uncaught exception in the application: stopping the service [^\n]+\n {4}Error: The cellar is empty\n/,
    )
  })

  it('loads the latest of several changes', async () => {
    const running = await start()
    for (let count = 1; count <= 20; count += 1)
      writeFileSync(place.path('words/word.ts'), `export const word: string = '${count}'\n`)
    await until(async () => (await said(running).catch(() => null)) === '20')
  })

  it('ends all its processes on Ctrl-C and when it is killed', async () => {
    for (const [signal, code] of [
      ['SIGINT', 0],
      ['SIGKILL', null],
    ] as const) {
      const running = await start()
      const { program, url } = running
      place.write('words/word.ts', `export const word: string = '${signal}'\n`)
      await reloaded(program)
      program.signal(signal)
      // The output is a pipe, which all processes hold: the program has ended when the last one has.
      assert.equal((await program.ended).code, code)
      await assert.rejects(fetch(url))
    }
  })

  it('watches nothing with --no-watch', async () => {
    const program = place.start(['dev', 'app.ts', '--no-watch'], { env: { PORT: '0' } })
    await program.prints(/is ready at/)
    place.write('words/word.ts', 'broken')
    program.signal('SIGINT')
    const { code, stdout, stderr } = await program.ended
    assert.deepEqual([code, stderr], [0, ''])
    assert.doesNotMatch(stdout, /Reloaded|Waiting for a change/)
  })
})
