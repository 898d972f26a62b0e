/** Compares pages of an actor with all requests that return the same data as JSON, from one server. */
import { type BenchActor, createActor, requestText, send, signIn, value } from './client.ts'
import { compare, pairedRatio, type Slices } from './compare.ts'
import { type Loader, startServer } from './process.ts'
import { type Line, micros, millis, rate } from './report.ts'
import { befriend } from './requests.ts'
import type { Subject } from './subject.ts'

/** Processor time of a page, beside that of its data as JSON. */
const maxTimes = 3

/** The frame of every page has the numbers beside the sections. */
const frame = ['/trust', '/approvals', '/subscriptions']
/** The rules of each connection decide who may see a property. */
const access = ['/trust/friend/bench-peer/permissions']

/** Each page with the requests that return the data on it. */
const pages: readonly (readonly [what: string, page: string, data: readonly string[]])[] = [
  [
    'page: the overview',
    '/www',
    [...frame, ...access, '/properties', '/activity?limit=1000', '/meta', '/actions', '/methods'],
  ],
  ['page: 21 properties', '/www/properties', [...frame, ...access, '/properties', '/properties?metadata=true']],
  [
    'page: a list of 50 items',
    '/www/properties/notes',
    [...frame, ...access, '/properties/notes', '/properties/notes/metadata', '/history?name=notes&limit=1'],
  ],
  [
    'page: a connection',
    '/www/trust/bench-peer',
    [
      ...frame,
      ...access,
      '/trust/friend/bench-peer',
      '/properties',
      '/actions',
      '/methods',
      '/subscriptions/bench-peer',
      '/activity?caller=bench-peer&limit=3',
    ],
  ],
]

export async function measurePages(store: string, subject: Subject, loader: Loader, slices: Slices): Promise<Line[]> {
  const server = await startServer('troupe', subject)
  try {
    const { actor, token } = await createOwner(server.port)
    const owner = { id: actor.id, authorization: `Bearer ${token}` }
    const lines: Line[] = []
    for (const [what, page, data] of pages) {
      const requests = [[page], data].map((paths) => paths.map((path) => requestText(owner, 'GET', path)))
      const [shown, bound] = await compare(loader, [server, server], (index) => requests[index] ?? [], slices)
      if (shown === undefined || bound === undefined) continue
      lines.push({
        store,
        what,
        measured: `${rate(shown.rate)}, ${micros(shown.cpu)} CPU, p99 ${millis(shown.p99)}`,
        bound: `${micros(bound.cpu * data.length)} CPU for ${data.length} requests`,
        ratio: pairedRatio(shown, bound, 'cpu') / data.length,
        aim: `≤ ${maxTimes}`,
        met: pairedRatio(shown, bound, 'cpu') / data.length <= maxTimes,
      })
    }
    return lines
  } finally {
    await server.stop()
  }
}

/** An actor with 20 values, a list of 50 items and a friend, and a session of its owner. */
export async function createOwner(port: number): Promise<{ readonly actor: BenchActor; readonly token: string }> {
  const actor = await createActor(port, 'bench@example.com')
  const items = Array.from({ length: 50 }, (_, index) => ({ index, text: `Note ${index}`, tags: ['a', 'b'] }))
  for (let index = 0; index < 20; index += 1) await send(port, actor, 'PUT', `/properties/p${index}`, value)
  await send(port, actor, 'POST', '/properties', JSON.stringify({ notes: { _type: 'list' } }))
  await send(port, actor, 'POST', '/properties', JSON.stringify({ notes: { items } }))
  await befriend(port, actor)
  const [session] = await signIn(port, actor, 1)
  if (session === undefined) throw new Error('No session began.')
  return { actor, token: session.access }
}
