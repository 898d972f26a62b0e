/** Runs the service as a separate process that can be killed, and sends requests to it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import type { Reply, Send } from './history.ts'
import { sourceArguments } from './joined-files.ts'
import { testKeys } from './service.ts'

export interface ServiceProcess {
  readonly pid: number
  readonly url: string
  readonly send: Send
  /** Kills the process, and resolves when it has ended. */
  kill(): Promise<void>
  /** Stops the process gracefully. */
  stop(): Promise<void>
}

export interface ServiceProcessOptions {
  readonly database: string
  /** The application module. Default: the application for load tests. */
  readonly module?: string
  /** Further settings as environment variables. */
  readonly env?: Readonly<Record<string, string>>
}

const root = join(import.meta.dirname, '../..')

export async function startServiceProcess(options: ServiceProcessOptions): Promise<ServiceProcess> {
  const module = options.module ?? join(import.meta.dirname, 'load-app.ts')
  const args = [...sourceArguments(), join(root, 'bin/troupe.js'), 'dev', '--no-watch', module]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      DATABASE_URL: options.database,
      PORT: '0',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'silent',
      TROUPE_SECRET_KEYS: testKeys,
      TROUPE_STORE_TIMEOUT_SECONDS: '60',
      ...options.env,
    },
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  // A failed test may leave the process running, but it must not outlive the test run.
  const killWithParent = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithParent)
  const url = await urlOf(child)
  const agent = new Agent({ connections: 64, keepAliveTimeout: 60_000 })
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await ended
    process.off('exit', killWithParent)
    await agent.destroy()
  }
  return {
    pid: child.pid ?? 0,
    url,
    send: senderTo(url, agent),
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const listen = (piece: string): void => {
      said += piece
      const found = /is ready at (\S+)/.exec(said)
      if (found?.[1] !== undefined) resolve(found[1])
    }
    child.stdout?.setEncoding('utf8').on('data', listen)
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => void (said += piece))
    child.once('close', (code) => reject(new Error(`The service ended with code ${code} before it was ready: ${said}`)))
  })
}

function senderTo(url: string, agent: Agent): Send {
  return async (method, path, { authorization, body, headers = {} } = {}) => {
    const answer = await request(`${url}${path}`, {
      dispatcher: agent,
      method: method as 'GET',
      headers: { ...headersFor(authorization, body), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  }
}

/** Creates a `Send` for a service in this process. */
export function senderInProcess(answer: (request: Request) => Promise<Response>): Send {
  return async (method, path, { authorization, body, headers = {} } = {}): Promise<Reply> => {
    const response = await answer(
      new Request(`http://troupe.test${path}`, {
        method,
        headers: { ...headersFor(authorization, body), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
    return { status: response.status, text: await response.text() }
  }
}

function headersFor(authorization: string | undefined, body: unknown): Record<string, string> {
  return {
    ...(authorization === undefined ? {} : { authorization }),
    ...(body === undefined ? {} : { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' }),
  }
}
