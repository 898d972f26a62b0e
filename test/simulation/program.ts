/** One process of a service, which can die between any two of its steps and then stops completely. */
import { Readable } from 'node:stream'
import { BodyStream } from '../../src/http/edge/body-stream.ts'
import type { HttpResponse } from '../../src/http/edge/response.ts'
import type { HttpRequest } from '../../src/http/edge/request.ts'
import { createLog } from '../../src/observe/log.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import type { FileBytes } from '../../src/object/file-bytes.ts'
import type { Service } from '../../src/service.ts'
import type { LockedActor, Param, Queries, Store, StoreUsage, Transaction } from '../../src/store/store.ts'
import { App, type TroupeOptions } from '../../src/troupe.ts'
import type { Random } from '../support/random.ts'
import { testKeys } from '../support/service.ts'
import { openFile } from './databases.ts'
import type { ReadCache } from './read-cache.ts'
import type { VirtualTime } from './virtual-time.ts'

export interface ProgramParts {
  readonly name: string
  readonly databasePath: string
  readonly fileBytes: FileBytes
  /** Shared by the processes of a database. */
  readonly reads: ReadCache
  readonly baseUrl: string
  readonly settings: Partial<TroupeOptions>
  readonly time: VirtualTime
  readonly random: Random
  readonly declare: (app: App) => void
  readonly call: (from: Program, request: PeerRequest) => Promise<PeerOutcome>
  /** Called after each commit that changed anything, before any other code sees the change. */
  readonly committed: (from: Program) => void
  readonly trace: (line: string) => void
  readonly died: (program: Program) => void
  /** Reports a broken invariant. */
  readonly violation: (text: string) => void
}

export interface AskOptions {
  readonly authorization?: string
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

export type Reply = { readonly status: number; readonly headers: Record<string, string>; readonly body: string }

export class Program {
  readonly name: string
  readonly #parts: ProgramParts
  #store: Store | undefined
  #service: Service | undefined
  #alive = true
  /** Steps are counted only after the start of the service. */
  #started = false
  #stepsLeft = Infinity
  /** Resolvers of the requests that this process has not answered. */
  readonly #waiting = new Set<() => void>()

  private constructor(parts: ProgramParts) {
    this.name = parts.name
    this.#parts = parts
  }

  static async start(parts: ProgramParts): Promise<Program> {
    const program = new Program(parts)
    await program.#start()
    return program
  }

  get isAlive(): boolean {
    return this.#alive
  }

  get service(): Service {
    if (this.#service === undefined) throw new Error('Not started')
    return this.#service
  }

  async #start(): Promise<void> {
    const { databasePath, fileBytes, baseUrl, settings, time, random, declare, call, violation } = this.#parts
    const client: PeerClient = {
      call: (request) => this.#living(() => call(this, request)),
      close: () => Promise.resolve(),
    }
    const app = new App(
      {
        type: 'urn:actingweb:example.com:simulation',
        name: 'simulation',
        mode: 'development',
        database: `sqlite:${databasePath}`,
        synchronous: 'NORMAL',
        secretKeys: testKeys,
        baseUrl,
        env: {},
        ...settings,
      },
      {
        log: createLog('error', {
          write: (line: string) => {
            if (this.#alive) violation(`${this.name} logged an error: ${line.trim().slice(0, 1500)}`)
          },
        }),
        now: time.now,
        random: () => random.next(),
        // In half of the runs, every change is answered before its diffs are written.
        maxDirectSubscriptions: settings.maxConcurrentCallbacks === 1 ? 0 : 64,
        timers: {
          setTimer: (ms, then) =>
            time.after(ms, () => {
              if (this.#alive) then()
            }),
        },
        peerClient: client,
        fileBytes,
        openFile,
        wrapStore: (store) => {
          this.#store = store
          return new MortalStore(store, this, this.#parts.reads)
        },
      },
    )
    declare(app)
    this.#service = await app.running()
    this.#started = true
  }

  /** Answers a request. Null when the process died before the response was sent. */
  async ask(
    method: string,
    path: string,
    { authorization, body, headers = {} }: AskOptions = {},
  ): Promise<Reply | null> {
    const fields: Record<string, string> = {
      accept: 'application/json',
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    }
    const answer = await this.attempt(({ handle }) => handle(new InProcess(method, path, fields, body)))
    return answer === null ? null : plain(answer)
  }

  /** Runs code inside the process. Null when the process died before the code ended. */
  attempt<T>(work: (service: Service) => Promise<T>): Promise<T | null> {
    if (!this.#alive) return Promise.resolve(null)
    return new Promise((resolve, reject) => {
      const broken = (): void => resolve(null)
      this.#waiting.add(broken)
      work(this.service)
        .then((value) => {
          this.step()
          if (this.#alive) resolve(value)
        }, reject)
        .finally(() => this.#waiting.delete(broken))
    })
  }

  /** Makes the process die after that number of steps. */
  dieIn(steps: number): void {
    this.#stepsLeft = steps
  }

  /** A place where the process may die. Returns false when it is dead. */
  step(): boolean {
    this.#parts.time.stir()
    if (!this.#started || !this.#alive) return this.#alive
    if (--this.#stepsLeft <= 0) this.die()
    return this.#alive
  }

  die(): void {
    if (!this.#alive) return
    this.#alive = false
    this.#parts.trace(`${this.name} dies`)
    for (const broken of this.#waiting) broken()
    this.#waiting.clear()
    this.#parts.died(this)
  }

  /** Closes the store, as the operating system would. */
  async bury(): Promise<void> {
    this.#alive = false
    this.#waiting.clear()
    await this.#store?.close()
  }

  /** Runs a step of the process. A dead process never continues. */
  async #living<T>(work: () => Promise<T>): Promise<T> {
    if (!this.step()) return never()
    const value = await work()
    return this.step() ? value : never()
  }

  /** Waits for the next turn of the process at the database. */
  turn<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#started) return work()
    const { time, random } = this.#parts
    return this.#living(
      () =>
        new Promise<T>((resolve, reject) => {
          time.after(random.below(6), async () => {
            if (!this.#alive) return
            // Everything else waits meanwhile, because the database has one writer.
            await work().then(resolve, (error: unknown) => {
              if (this.#alive) reject(error)
            })
          })
        }),
    )
  }

  change<T>(work: () => Promise<T>): Promise<T> {
    return this.turn(async () => {
      const value = await work()
      if (this.#started) this.#parts.committed(this)
      return value
    })
  }

  /** A place between two statements of a transaction where the process may die. */
  inside(): void {
    if (!this.step()) throw new Error('The process died in a transaction')
  }

  looks<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#started) return work()
    return this.#parts.random.below(3) === 0 ? this.turn(work) : this.#living(work)
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => {})
}

function plain({ status, headers, body }: HttpResponse): Reply {
  return {
    status,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    body: String(body ?? ''),
  }
}

/** A request in the form that the HTTP server passes on. */
class InProcess implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly fault = null
  readonly remoteAddress = null
  readonly original = new Request('http://simulation.test')
  readonly hasRepeated = (): boolean => false
  readonly #headers: Readonly<Record<string, string>>
  readonly #body: Uint8Array

  constructor(method: string, path: string, headers: Record<string, string>, body: string | Uint8Array | undefined) {
    const [pathname = '', ...query] = path.split('?')
    this.method = method
    this.path = pathname
    this.query = query.join('?')
    this.#headers = headers
    this.#body = typeof body === 'string' ? Buffer.from(body) : (body ?? new Uint8Array())
  }

  header(name: string): string | undefined {
    return this.#headers[name]
  }

  onGone(): () => void {
    return () => {}
  }

  body(): Promise<Uint8Array> {
    return Promise.resolve(this.#body)
  }

  stream(): BodyStream {
    return new BodyStream(Readable.from([this.#body]))
  }
}

/** A store that dies with its process: uncommitted changes are rolled back, and no call returns. */
class MortalStore implements Store {
  readonly #inner: Store
  readonly #program: Program
  readonly #reads: ReadCache

  constructor(inner: Store, program: Program, reads: ReadCache) {
    this.#inner = inner
    this.#program = program
    this.#reads = reads
  }

  get dialect(): Store['dialect'] {
    return this.#inner.dialect
  }

  get now(): Store['now'] {
    return this.#inner.now
  }

  get isSharded(): boolean {
    return this.#inner.isSharded
  }

  read<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    return this.#program.looks(() => this.#inner.read((q) => work(this.#reads.over(q))))
  }

  readAllServers<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    return this.#program.looks(() => this.#inner.readAllServers<R>(sql, ...params))
  }

  snapshot<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    return this.#program.looks(() => this.#inner.snapshot(work))
  }

  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#program.change(() =>
      this.#reads.change(() =>
        this.#inner.write(async (tx) => this.#lastStep(await work(new MortalTransaction(tx, this.#program)))),
      ),
    )
  }

  writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    return this.#program.change(() =>
      this.#reads.change(() =>
        this.#inner.writeActor(
          actorId,
          async (tx, actor) => this.#lastStep(await work(new MortalTransaction(tx, this.#program), actor)),
          origin,
        ),
      ),
    )
  }

  /** A place directly before the commit where the process may die. */
  #lastStep<T>(value: T): T {
    this.#program.inside()
    return value
  }

  ping(): Promise<void> {
    return this.#inner.ping()
  }

  usage(): Promise<StoreUsage> {
    return this.#inner.usage()
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}

class MortalTransaction implements Transaction {
  readonly origin: string
  readonly isSharded: boolean
  readonly #inner: Transaction
  readonly #program: Program

  constructor(inner: Transaction, program: Program) {
    this.origin = inner.origin
    this.isSharded = inner.isSharded
    this.#inner = inner
    this.#program = program
  }

  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    return this.#alive(() => this.#inner.all<R>(sql, ...params))
  }

  get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined> {
    return this.#alive(() => this.#inner.get<R>(sql, ...params))
  }

  run(sql: string, ...params: Param[]): Promise<number> {
    return this.#alive(() => this.#inner.run(sql, ...params))
  }

  /** Rejects, as a store does, and never throws at once. */
  #alive<T>(statement: () => Promise<T>): Promise<T> {
    try {
      this.#program.inside()
    } catch (error) {
      return Promise.reject(error)
    }
    return statement()
  }
}
