/** Runs several clients that change a few actors in parallel with a seeded mix of operations, and records the responses. */
import { History, type Recorded, type Reply, type Send } from './history.ts'
import { type Random, seeded } from './random.ts'
import {
  list,
  type ListInput,
  passingActor,
  type PassingInput,
  type PassingState,
  register,
  type RegisterInput,
  sorted,
} from './sequential-objects.ts'

export interface LoadOptions {
  readonly clients: number
  /** The services. Each client begins with another one, and switches to the next when it receives no response. */
  readonly services: readonly Send[]
  /** Called before each step with the number of requests so far. False ends the run. */
  readonly goesOn: (requests: number) => boolean
  /** Called at the start of each request with its number, counted from 1. */
  readonly onRequest?: (count: number) => void
  /** Whether a client without a response from any service retries instead of stopping. */
  readonly isPatient?: boolean
}

interface Account {
  readonly id: string
  readonly authorization: string
}

/** An actor that is not deleted, with the objects whose history is recorded. */
interface Lasting extends Account {
  readonly registers: readonly Recorded<string | null, RegisterInput>[]
  readonly keys: readonly { readonly path: string; readonly thing: Recorded<string | null, RegisterInput> }[]
  /** Two values, an indexed value and a list item, which every write sets together. */
  readonly group: Recorded<string | null, RegisterInput>
  readonly log: Recorded<readonly string[], ListInput>
}

interface Passing extends Account {
  readonly thing: Recorded<PassingState | null, PassingInput>
}

export class Load {
  readonly history = new History()
  /** Creators whose request for an actor got no response. */
  readonly perhaps: string[] = []
  readonly #seed: number
  readonly #lasting: Lasting[] = []
  readonly #passing: Passing[] = []
  readonly #ended: Passing[] = []
  requests = 0
  #tokens = 0
  #clients = 1

  constructor(seed: number) {
    this.#seed = seed
  }

  /** Creates the lasting actors. Some list lengths are close to the capacity of a node. */
  async prepare(send: Send): Promise<void> {
    const random = seeded(this.#seed)
    for (let index = 0; index < 2; index++) {
      const account = await this.#createActor(send, `lasting-${index}`)
      if (account === null) throw new Error('Cannot create an actor before the load')
      const items = Array.from({ length: random.pick([0, 3, 127, 129]) }, () => this.#token('begin'))
      const entries = items.map((t, index) => ({ index, t }))
      for (const body of [{ log: { _type: 'list' }, glist: { _type: 'list' } }, { log: { items: entries } }]) {
        const reply = await send('POST', `/${account.id}/properties`, { authorization: account.authorization, body })
        if (reply.status !== 201) throw new Error(`Cannot create a list before the load: ${reply.status} ${reply.text}`)
      }
      const thing = (name: string): string => `${account.id}/${name}`
      this.#lasting.push({
        ...account,
        registers: ['r0', 'r1'].map((name) => this.history.thing(thing(name), register('always done'))),
        keys: ['doc/k0', 'doc/in/k1', 'doc/in/k2'].map((path) => ({
          path,
          thing: this.history.thing(thing(path), register('tells')),
        })),
        group: this.history.thing(thing('group'), register('always done')),
        log: this.history.thing(thing('log'), list(items)),
      })
    }
  }

  async run(options: LoadOptions): Promise<void> {
    const clients = Array.from({ length: options.clients }, (_, index) => this.#client(options, index))
    await Promise.all(clients)
  }

  /** Reads all data again, from a running service. */
  async readAll(send: Send): Promise<void> {
    for (const actor of this.#lasting) {
      for (let index = 0; index < actor.registers.length; index++) await readRegister(send, actor, index)
      for (let index = 0; index < actor.keys.length; index++) await readKey(send, actor, index)
      await readGroup(send, actor)
      await readLog(send, actor)
    }
    for (const actor of [...this.#passing, ...this.#ended]) await readPassing(send, actor)
  }

  #token(of: string): string {
    return `${of}-${this.#seed}-${this.#tokens++}`
  }

  async #client(options: LoadOptions, index: number): Promise<void> {
    const random = seeded(this.#seed * 1_000 + this.#clients++)
    const own: Passing[] = []
    let service = index
    let failures = 0
    const send: Send = async (...request) => {
      this.requests++
      options.onRequest?.(this.requests)
      const chosen = options.services[service % options.services.length]
      if (chosen === undefined) throw new Error('No service')
      try {
        const reply = await chosen(...request)
        failures = reply.status === 503 ? failures + 1 : 0
        return reply
      } catch (error) {
        failures++
        service++
        throw error
      }
    }
    while (options.goesOn(this.requests)) {
      if (failures >= options.services.length && options.isPatient !== true) return
      // Real time: a client backs off from a service that is down.
      if (failures > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      await this.#step(send, random, own, `c${index}`)
    }
  }

  async #step(send: Send, random: Random, own: Passing[], client: string): Promise<void> {
    const actor = this.#lasting[random.below(this.#lasting.length)]
    if (actor === undefined) return
    const kind = random.below(20)
    if (kind < 3) await changeRegister(send, random, actor, this.#token(client))
    else if (kind < 7) await changeKey(send, random, actor, this.#token(client))
    else if (kind < 9) await changeGroup(send, random, actor, this.#token(client))
    else if (kind < 16) await changeLog(send, random, actor, () => this.#token(client))
    else await this.#pass(send, random, own, client)
  }

  async #pass(send: Send, random: Random, own: Passing[], client: string): Promise<void> {
    const kind = random.below(8)
    if (kind === 0 && own.length < 3) {
      const token = this.#token(client)
      const account = await this.#createActor(send, token)
      if (account === null) return
      const passing = { ...account, thing: this.history.thing(`passing ${account.id}`, passingActor) }
      own.push(passing)
      this.#passing.push(passing)
      return
    }
    if (kind === 1) {
      // Only the client that created the actor deletes it, so that no two deletions run in parallel.
      const ending = own.shift()
      if (ending === undefined) return
      this.#ended.push(ending)
      await ending.thing.call(
        { do: 'delete' },
        () => send('DELETE', `/${ending.id}`, { authorization: ending.authorization }),
        ({ status }) => (status === 204 ? 'done' : status === 404 ? 'gone' : undefined),
      )
      const at = this.#passing.indexOf(ending)
      if (at >= 0) this.#passing.splice(at, 1)
      return
    }
    const actor = this.#passing[random.below(this.#passing.length)]
    if (actor === undefined) return
    const token = this.#token(client)
    if (kind < 5) {
      const name = random.pick(['a', 'b'])
      await actor.thing.call(
        { do: 'put', name, value: token },
        () => send('PUT', `/${actor.id}/properties/${name}`, { authorization: actor.authorization, body: token }),
        ({ status }) => (status === 204 ? 'done' : status === 404 ? 'gone' : undefined),
      )
    } else if (kind < 7) {
      await actor.thing.call(
        { do: 'append', item: token },
        () => act(send, actor, 'append', { item: { t: token } }),
        ({ status, text }) => (status === 200 ? field(text, 'index') : status === 404 ? 'gone' : undefined),
      )
    } else {
      await readPassing(send, actor)
    }
  }

  async #createActor(send: Send, name: string): Promise<Account | null> {
    const creator = `${name}-${this.#seed}-${process.pid}@example.com`
    let reply: Reply
    try {
      reply = await send('POST', '/', { body: { creator } })
    } catch {
      this.perhaps.push(creator)
      return null
    }
    if (reply.status === 503) {
      this.perhaps.push(creator)
      return null
    }
    if (reply.status !== 201) {
      this.history.surprise(`Unexpected response to the creation of ${creator}: ${reply.status} ${reply.text}`)
      return null
    }
    const { id, passphrase } = JSON.parse(reply.text) as { id: string; passphrase: string }
    return { id, authorization: `Basic ${Buffer.from(`${creator}:${passphrase}`).toString('base64')}` }
  }
}

// A property

async function changeRegister(send: Send, random: Random, actor: Lasting, token: string): Promise<void> {
  const index = random.below(actor.registers.length)
  const kind = random.below(6)
  if (kind === 0) return readRegister(send, actor, index)
  const { authorization } = actor
  const path = `/${actor.id}/properties/r${index}`
  const done = ({ status }: Reply): unknown => (status === 204 ? 'done' : undefined)
  if (kind === 1)
    await actor.registers[index]?.call({ do: 'remove' }, () => send('DELETE', path, { authorization }), done)
  else
    await actor.registers[index]?.call(
      { do: 'write', value: token },
      () => send('PUT', path, { authorization, body: token }),
      done,
    )
}

async function readRegister(send: Send, actor: Lasting, index: number): Promise<void> {
  await actor.registers[index]?.call(
    { do: 'read' },
    () => send('GET', `/${actor.id}/properties/r${index}`, { authorization: actor.authorization }),
    ({ status, text }) => (status === 200 ? text : status === 404 ? null : undefined),
  )
}

// A key inside a property

async function changeKey(send: Send, random: Random, actor: Lasting, token: string): Promise<void> {
  const index = random.below(actor.keys.length)
  const key = actor.keys[index]
  const kind = random.below(6)
  if (kind === 0 || key === undefined) return readKey(send, actor, index)
  const { authorization } = actor
  const path = `/${actor.id}/properties/${key.path}`
  if (kind === 1)
    await key.thing.call(
      { do: 'remove' },
      () => send('DELETE', path, { authorization }),
      ({ status }) => (status === 204 ? 'done' : status === 404 ? 'none' : undefined),
    )
  else
    await key.thing.call(
      { do: 'write', value: token },
      () => send('PUT', path, { authorization, body: JSON.stringify(token) }),
      ({ status }) => (status === 204 ? 'done' : undefined),
    )
}

async function readKey(send: Send, actor: Lasting, index: number): Promise<void> {
  const key = actor.keys[index]
  await key?.thing.call(
    { do: 'read' },
    () => send('GET', `/${actor.id}/properties/${key.path}`, { authorization: actor.authorization }),
    ({ status, text }) => (status === 200 ? (JSON.parse(text) as unknown) : status === 404 ? null : undefined),
  )
}

// Several properties, an indexed one and a list among them, in one request

async function changeGroup(send: Send, random: Random, actor: Lasting, token: string): Promise<void> {
  const kind = random.below(6)
  if (kind === 0) return readGroup(send, actor)
  const { authorization } = actor
  const isRemoval = kind === 1
  const body = isRemoval
    ? { g1: '', g2: '', email: '', glist: { items: [{ index: 0 }] } }
    : { g1: token, email: emailOf(actor, token), glist: { items: [{ index: 0, t: token }] }, g2: token }
  const method = random.pick(['POST', 'PUT'])
  await actor.group.call(
    isRemoval ? { do: 'remove' } : { do: 'write', value: token },
    () => send(method, `/${actor.id}/properties`, { authorization, body }),
    ({ status }) => (status === (method === 'POST' ? 201 : 204) ? 'done' : undefined),
  )
}

const emailOf = (actor: Account, token: string): string => `${token}.${actor.id.slice(0, 8)}@example.com`

/** Reads four parts that are written together. The result is torn unless all have the same token, or all are absent. */
async function readGroup(send: Send, actor: Lasting): Promise<void> {
  await actor.group.call(
    { do: 'read' },
    () => send('GET', `/${actor.id}/properties?format=full`, { authorization: actor.authorization }),
    ({ status, text }) => {
      if (status !== 200) return undefined
      const { g1, g2, email, glist } = JSON.parse(text) as {
        g1?: string
        g2?: string
        email?: string
        glist?: { items: { t: string }[] }
      }
      const items = glist?.items.map(({ t }) => t)
      if (g1 === undefined && g2 === undefined && email === undefined && items?.length === 0) return null
      if (g1 === g2 && email === emailOf(actor, g1 ?? '') && items?.length === 1 && items[0] === g1) return g1
      return `torn: ${JSON.stringify({ g1, g2, email, items })}`
    },
  )
}

// A list

async function changeLog(send: Send, random: Random, actor: Lasting, token: () => string): Promise<void> {
  const { log, authorization } = actor
  const properties = `/${actor.id}/properties`
  const [index, t] = [random.pick([0, 1, 2, 3, 60, 126, 127, 128]), token()]
  const done =
    (status: number, beyond: number) =>
    (reply: Reply): unknown =>
      reply.status === status ? 'done' : reply.status === beyond ? 'beyond' : undefined
  switch (random.below(14)) {
    case 0:
    case 1:
      return readLog(send, actor)
    case 2:
    case 3:
      await log.call(
        { do: 'append', item: t },
        () => send('POST', `${properties}/log/items`, { authorization, body: { action: 'add', item_value: { t } } }),
        ({ status, text }) => (status === 201 ? field(text, 'index') : undefined),
      )
      return
    case 4:
      await log.call(
        { do: 'put', index, item: t },
        () => send('PUT', `${properties}/log/${index}`, { authorization, body: { t } }),
        done(204, 404),
      )
      return
    case 5:
      await log.call(
        { do: 'update', index, item: t },
        () =>
          send('POST', `${properties}/log/items`, {
            authorization,
            body: { action: 'update', item_index: index, item_value: { t } },
          }),
        done(204, 400),
      )
      return
    case 6:
      await log.call(
        { do: 'delete', index },
        () => send('DELETE', `${properties}/log/${index}`, { authorization }),
        done(204, 404),
      )
      return
    case 7:
      await log.call(
        { do: 'delete', index },
        () => send('POST', `${properties}/log/items`, { authorization, body: { action: 'delete', item_index: index } }),
        done(204, 400),
      )
      return
    case 8:
    case 9: {
      const entries = [
        { index: index + 1 },
        { index, item: t },
        { index: 0, item: token() },
        ...(random.below(2) === 0 ? [{ index: 1 }, { index: 0 }] : []),
      ]
      const items = entries.map((entry) => ({ index: entry.index, ...('item' in entry ? { t: entry.item } : {}) }))
      await log.call(
        { do: 'bulk', entries },
        () => send('POST', properties, { authorization, body: { log: { items } } }),
        ({ status, text }) =>
          status === 201
            ? /^\[Bulk update: (.*)\]$/.exec(String(field(text, 'log')))?.[1]
            : status === 400
              ? 'beyond'
              : undefined,
      )
      return
    }
    case 10:
    case 11:
      await log.call(
        { do: 'insert', index, item: t },
        () => act(send, actor, 'insert', { index, item: { t } }),
        done(200, 400),
      )
      return
    case 12: {
      const at = random.pick([-1, 0, index])
      await log.call(
        { do: 'pop', index: at },
        () => act(send, actor, 'pop', { index: at }),
        ({ status, text }) =>
          status === 200 ? ((JSON.parse(text) as { item: { t: string } | null }).item?.t ?? null) : undefined,
      )
      return
    }
    default:
      await log.call(
        { do: 'replace', item: `${t}-none`, by: t },
        () => act(send, actor, 'replace', { t: `${t}-none`, item: { t } }),
        ({ status, text }) => (status === 200 ? field(text, 'count') : undefined),
      )
  }
}

async function readLog(send: Send, actor: Lasting): Promise<void> {
  await actor.log.call(
    { do: 'read' },
    () => send('GET', `/${actor.id}/properties/log`, { authorization: actor.authorization }),
    ({ status, text }) => (status === 200 ? (JSON.parse(text) as { t: string }[]).map(({ t }) => t) : undefined),
  )
}

// An actor that is deleted

async function readPassing(send: Send, actor: Passing): Promise<void> {
  await actor.thing.call(
    { do: 'read' },
    () => send('GET', `/${actor.id}/properties?format=full`, { authorization: actor.authorization }),
    ({ status, text }) => {
      if (status === 404) return 'gone'
      if (status !== 200) return undefined
      const { log, ...values } = JSON.parse(text) as { log?: { items: { t: string }[] } } & Record<string, string>
      return { values: sorted(values), items: log?.items.map(({ t }) => t) ?? [] }
    },
  )
}

function act(send: Send, actor: Account, name: string, input: object): Promise<Reply> {
  return send('POST', `/${actor.id}/actions/${name}`, {
    authorization: actor.authorization,
    body: { list: 'log', ...input },
  })
}

function field(text: string, name: string): unknown {
  return (JSON.parse(text) as Record<string, unknown>)[name]
}
