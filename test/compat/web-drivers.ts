/** Drives browsers of the machine by the protocols of the W3C: WebKitGTK by WebDriver, Firefox by WebDriver BiDi. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

export interface DrivenBrowser {
  open(url: string): Promise<void>
  /** Returns the value of an expression in the page, which JSON can represent. */
  evaluate(expression: string): Promise<unknown>
  close(): Promise<void>
}

/** Starts a program with a process group of its own, and returns what ends the group. */
function startGroup(program: string, args: readonly string[]): { child: ChildProcess; end: () => Promise<void> } {
  const child = spawn(program, args, { stdio: 'ignore', detached: true })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const end = (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid)
    return ended
  }
  return { child, end }
}

async function whenAnswered<T>(child: ChildProcess, ask: () => Promise<T>): Promise<T> {
  let answer: { value: T } | undefined
  await until(async () => {
    assert.equal(child.exitCode, null, 'the browser ended')
    answer = await ask().then(
      (value) => ({ value }),
      () => undefined,
    )
    return answer !== undefined
  })
  assert.ok(answer)
  return answer.value
}

const miniBrowser = '/usr/lib/*/webkit2gtk-4.1/MiniBrowser'

/** WebKitGTK, the engine of Safari on Linux, in a virtual screen. */
export async function startWebKit(): Promise<DrivenBrowser> {
  const [binary] = globSync(miniBrowser)
  assert.ok(binary, `no ${miniBrowser}`)
  const port = await freePort()
  const { child, end } = startGroup('xvfb-run', ['-a', 'WebKitWebDriver', `--port=${port}`, '--host=127.0.0.1'])
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}/session${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const { value } = (await answer.json()) as { value: unknown }
    assert.ok(answer.ok, JSON.stringify(value))
    return value
  }
  const options = { binary, args: ['--automation'] }
  const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': options } }
  const { sessionId } = (await whenAnswered(child, () => call('POST', '', { capabilities }))) as { sessionId: string }
  return {
    open: async (url) => void (await call('POST', `/${sessionId}/url`, { url })),
    evaluate: (expression) => call('POST', `/${sessionId}/execute/sync`, { script: `return ${expression}`, args: [] }),
    async close() {
      await call('DELETE', `/${sessionId}`)
      await end()
    },
  }
}

interface BidiAnswer {
  readonly id?: number
  readonly error?: string
  readonly message?: string
  readonly result?: unknown
}

/** Firefox without a window. */
export async function startFirefox(program: string): Promise<DrivenBrowser> {
  const profile = mkdtempSync(join(tmpdir(), 'troupe-firefox-'))
  const port = await freePort()
  const args = ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', `${port}`]
  const { child, end } = startGroup(program, args)
  const socket = await whenAnswered(child, () => connected(`ws://127.0.0.1:${port}/session`))
  const waiting = new Map<number, (answer: BidiAnswer) => void>()
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(String(data)) as BidiAnswer
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer)
  })
  let last = 0
  const call = async (method: string, params: object): Promise<unknown> => {
    last += 1
    const id = last
    const answered = new Promise<BidiAnswer>((resolve) => waiting.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params }))
    const { error, message, result } = await answered
    if (error !== undefined) assert.fail(`${error}: ${message}`)
    return result
  }
  await call('session.new', { capabilities: {} })
  const { contexts } = (await call('browsingContext.getTree', {})) as { contexts: { context: string }[] }
  const context = contexts[0]?.context ?? ''
  return {
    open: async (url) => void (await call('browsingContext.navigate', { context, url, wait: 'complete' })),
    async evaluate(expression) {
      const found = (await call('script.evaluate', {
        expression: `JSON.stringify(${expression})`,
        target: { context },
        awaitPromise: false,
      })) as { result?: { value?: string } }
      return JSON.parse(found.result?.value ?? 'null') as unknown
    },
    async close() {
      socket.close()
      await end()
      rmSync(profile, { recursive: true, force: true })
    },
  }
}

function connected(url: string): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    socket.addEventListener('open', () => resolve(socket))
    socket.addEventListener('error', () => reject(new Error('refused')))
  })
}
