/**
 * Measures requests with 16 connections, each server on one processor and the load on another. The bare server answers the
 * same requests, and optionally the service of another checkout does.
 */
import { type BenchActor, createActor, requestText, send, value } from './client.ts'
import { authorizeClient, rpc } from './clients.ts'
import { compare, type Measured, pairedRatio, type Slices } from './compare.ts'
import { type Loader, type Running, startPeers, startServer } from './process.ts'
import { type Line, micros, millis, rate } from './report.ts'
import { befriend, changing } from './requests.ts'
import type { Subject } from './subject.ts'

export interface Pinned {
  readonly store: string
  /** The service of this checkout. The bare server uses the same database. */
  readonly service: Built
  /** The service of another checkout, with a database of its own. */
  readonly base: Built | null
}

/** A service that `buildService` built in `folder`. */
export interface Built {
  readonly folder: string
  readonly subject: Subject
}

interface Load {
  readonly what: string
  /** Creates the requests for the actor of one service. */
  readonly requests: (target: Target) => readonly string[]
}

/** An actor for the requests, and the credentials of its callers. */
interface Target {
  readonly owner: BenchActor
  readonly peer: BenchActor
  readonly clientToken: string
}

const item = JSON.stringify({ text: 'Buy milk and bread on the way home', tags: ['home', 'shopping'], done: false })
const property = '/properties/p1'

const loads: readonly Load[] = [
  { what: 'GET a property, Basic', requests: ({ owner }) => [requestText(owner, 'GET', property)] },
  { what: 'GET a property, peer (bare: without rules)', requests: ({ peer }) => [requestText(peer, 'GET', property)] },
  { what: 'PUT a property, durable', requests: ({ owner }) => changing(owner, property) },
  { what: 'GET a list of 100 items', requests: ({ owner }) => [requestText(owner, 'GET', '/properties/read')] },
  {
    what: 'append to one list, contended',
    requests: ({ owner }) => [requestText(owner, 'POST', '/properties/grown', item)],
  },
  { what: 'create an actor, durable', requests: () => Array.from({ length: 997 }, (_, at) => creation(at)) },
  { what: 'MCP tools/list, 5 tools', requests: ({ clientToken }) => [rpc(clientToken, 'tools/list', {})] },
]

export async function measurePinned(loader: Loader, { store, service, base }: Pinned, slices: Slices): Promise<Line[]> {
  const servers: Running[] = []
  const peers = await startPeers()
  const launch = async (kind: 'troupe' | 'bare', { subject, folder }: Built): Promise<Running> => {
    const measuredSubject = { ...subject, tools: 5, declares: false }
    // The first start fills the compile cache, which saves memory too.
    await (await startServer(kind, measuredSubject, folder)).stop()
    const server = await startServer(kind, measuredSubject, folder)
    servers.push(server)
    return server
  }
  try {
    const troupe = await launch('troupe', service)
    const bare = await launch('bare', service)
    const other = base === null ? null : await launch('troupe', base)
    const measured = other === null ? [troupe, bare] : [troupe, bare, other]
    const idle = await memoryOf(measured)
    const own = await prepare(troupe, peers.url)
    const targets = [own, own, ...(other === null ? [] : [await prepare(other, peers.url)])]
    const lines: Line[] = []
    for (const { what, requests } of loads) {
      const sets = targets.map((target) => requests(target))
      lines.push(...linesOf(store, what, await compare(loader, measured, (server) => sets[server] ?? [], slices)))
    }
    return [
      ...lines,
      memoryLine(store, 'memory, idle', idle, 90),
      memoryLine(store, 'memory after these loads', await memoryOf(measured), 130),
    ]
  } finally {
    for (const server of servers) await server.stop()
    peers.stop()
  }
}

async function memoryOf(servers: readonly Running[]): Promise<number[]> {
  return Promise.all(servers.map(async (server) => (await server.usage()).rss))
}

/** @param peers URL of a server that accepts the notices to the peer. */
async function prepare({ port }: Running, peers: string): Promise<Target> {
  const owner = await createActor(port, 'bench@example.com')
  await send(port, owner, 'PUT', property, value)
  const items = Array.from({ length: 100 }, (_, index) => ({ index, ...(JSON.parse(item) as object) }))
  for (const list of ['read', 'grown']) {
    await send(port, owner, 'POST', '/properties', JSON.stringify({ [list]: { _type: 'list' } }))
    await send(port, owner, 'POST', '/properties', JSON.stringify({ [list]: { items } }))
  }
  return { owner, peer: await befriend(port, owner, peers), clientToken: await authorizeClient(port) }
}

function creation(at: number): string {
  return requestText(null, 'POST', '/', JSON.stringify({ creator: `someone${at}@example.com` }))
}

/** Returns the line beside the bare server, and the two lines beside the other checkout. */
export function linesOf(store: string, what: string, [own, bare, base]: readonly Measured[]): Line[] {
  if (own === undefined || bare === undefined) return []
  const measured = `${rate(own.rate)}, ${micros(own.cpu)} CPU, p50 ${millis(own.p50)}, p99 ${millis(own.p99)}`
  const line = (bound: string, ratio: number, name = what): Line => ({
    store,
    what: name,
    measured: name === what ? measured : '',
    bound,
    ratio,
    aim: '',
    met: null,
  })
  const beside = ({ rate: perSecond, cpu }: Measured): string => `${rate(perSecond)}, ${micros(cpu)} CPU`
  const lines = [line(`${beside(bare)} bare`, pairedRatio(own, bare, 'rate'))]
  if (base === undefined) return lines
  return [
    ...lines,
    line(`${beside(base)} base`, pairedRatio(own, base, 'rate'), `… rate, times the base`),
    line('', pairedRatio(own, base, 'cpu'), `… processor time, times the base`),
  ]
}

/** Returns the line of the memory of the service, the bare server and the other checkout, in this order. */
export function memoryLine(store: string, what: string, [own = 0, ...others]: readonly number[], most: number): Line {
  const names = ['bare', 'base']
  return {
    store,
    what,
    measured: megabytes(own),
    bound: others.map((bytes, at) => `${megabytes(bytes)} ${names[at]}`).join(', '),
    ratio: null,
    aim: `≤ ${most} MB`,
    met: own <= most * 1_000_000,
  }
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1_000_000)} MB`
